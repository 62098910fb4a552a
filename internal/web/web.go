// Package web has the parts that all pages of the service share: the layout, the style sheet and
// scripts, security headers, sealed cookies, and texts in several languages. It also refuses
// requests that other sites have forged.
//
// It owns how a page looks and how it is sent. A page is rendered completely before the status is
// written. Caches never store it, and its content security policy forbids inline code. Package web
// does not own what a page says, who may see it or which page comes next. The packages with the
// pages do.
//
// It fails before anything is sent. When a page cannot be rendered, the caller gets an error and
// sends another page. For a cookie that is absent, changed or sealed with another key, it returns
// ErrNoCookie. Templates and texts are part of the program. A mistake in a text panics at the
// start, and a mistake in a template when the first page is sent.
package web
