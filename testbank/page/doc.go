// Package page serves the pages of test banks: a list of the banks and, for each bank, a front
// page, the page to which third parties redirect customers, and the bank's app.
//
// It owns the appearance of the pages and the reading of forms. The pages work without JavaScript
// and fetch nothing from other hosts. The package does not make decisions: package bank does. For
// an expired link or a wrong form, it shows a page with the error.
package page
