// Package web has the parts that all pages of the service share: the layout, the style sheet and
// scripts, security headers, sealed cookies, texts in several languages, and the refusal of
// requests forged by other sites.
//
// It owns how a page looks and how it is sent. A page is rendered completely before the status
// is written, never stored by caches, and under a content security policy without inline code.
// It does not own what a page says, who may see it or which page comes next: the packages with
// the pages do.
//
// It fails before anything is sent. A page that cannot be rendered is an error, for which the
// caller sends another page. A cookie that is absent, altered or sealed with another key is
// ErrNoCookie. Templates and texts are part of the program: a broken text is a panic at the
// start, and a broken template a panic when the first page is sent.
package web
