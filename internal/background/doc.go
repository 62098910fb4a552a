// Package background runs work for which no request waits: loops that start, stop and can be
// woken.
//
// It owns when a pass runs and what happens when it fails. It does not own what a pass does, or
// locks against other processes. A pass that fails or panics is logged and repeated when the
// next is due. It never ends its loop. Stopping cancels the context of the running pass and
// waits for it.
package background
