// Package httpd runs an HTTP server: listener, timeouts, request ids, access log, recovery from
// panics, draining, health and metrics.
//
// The package owns the processing that is the same for every request, such as the limits for the
// size of a request and for the memory that bodies take. Other packages own routes, authentication,
// and the bodies of APIs. When a handler panics, the package logs the panic and responds with
// Options.Failure. When draining takes too long, the package cuts the remaining connections. The
// log line about a request contains the matched route, and so do the metrics. The log and the
// metrics do not contain the path, query, headers, body or address of a client.
package httpd
