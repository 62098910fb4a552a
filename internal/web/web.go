// Package web is the machinery that every page of the service shares: the
// layout, the style sheet and scripts, security headers, sealed cookies, texts
// in several languages, and the refusal of requests that other sites forged.
//
// It owns how a page looks and how it is sent: rendered completely before the
// status is written, never stored by caches, under a content security policy
// without inline code. It does not own what any page says, who may see it or
// which page comes next; the packages with the pages do.
//
// It fails before anything is sent: a page that cannot be rendered is an error
// for the caller to answer with another page, and a cookie that is absent,
// altered or of another key is ErrNoCookie. Templates and texts are part of the
// program, so a broken one is a panic when the program starts.
package web
