// Package httpd runs an HTTP server: listener, timeouts, request ids, access
// log, recovery from panics, draining, health and metrics.
//
// It owns what is the same for every request, such as limits for what clients send and what is
// held of it. It does not own routes, authentication, or the bodies of any API. A panic of a
// handler is logged and answered with the given page. A drain that fails to end in
// time cuts the rest. Logs and metrics name the route that matched and never the path, query,
// headers, body or address of a client.
package httpd
