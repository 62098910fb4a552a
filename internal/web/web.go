// Package web has the parts that all pages of the service share: the layout, the style sheet and
// scripts, security headers, sealed cookies, and texts in several languages. It also recognises
// requests that other sites have forged.
//
// The package owns the layout of pages, and how pages are sent. It renders a complete page before
// it writes the status. Caches never store a page, and the page's content security policy forbids
// inline code. The packages with the pages decide what a page says, who may see it and which page
// comes next.
//
// The package fails before it sends anything. When it cannot render a page, the caller gets an
// error and sends another page. Reading a cookie that is absent, changed or sealed with another key
// fails with ErrNoCookie. Templates and texts are part of the program. A mistake in a text panics
// at the start. A mistake in a template panics when the first page is sent.
package web
