// Package page shows a bank's pages to its customers: the one that a third party sends
// them to, and the bank's app.
//
// It owns the appearance of the pages and how forms are read; they work without JavaScript and
// fetch nothing from other hosts. It does not decide anything: package bank does. A link that is
// over, or a form that is wrong, fails with a page that says so.
package page
