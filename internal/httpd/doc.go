// Package httpd runs an HTTP server: listener, timeouts, request ids, access log, recovery from
// panics, draining, health and metrics.
//
// It owns what is the same for every request, such as the limits on the data that clients send and
// the service holds. It does not own routes, authentication, or the bodies of any API. A panic of a
// handler is logged and answered with the configured page. A drain that fails to end in time cuts
// the remaining connections. Logs and metrics name the route that matched, and never the path,
// query, headers, body or address of a client.
package httpd
