// Package background runs work for which no request waits: loops that other code starts, stops and
// wakes.
//
// It owns the times at which a pass runs, and the handling of failures. It does not own the work of
// a pass, or locks against other processes. When a pass fails or panics, the loop logs this, and
// runs the next pass when it is due. Stop cancels the context of the running pass and waits for the
// pass to end.
package background
