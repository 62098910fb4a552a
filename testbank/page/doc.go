// Package page shows a bank's pages to its customers: the page to which third parties redirect
// them, and the bank's app.
//
// It owns the appearance of the pages and the reading of forms. The pages work without JavaScript
// and fetch nothing from other hosts. The package does not make decisions: package bank does. For
// an expired link or a wrong form, it shows a page with the error.
package page
