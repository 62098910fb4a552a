// Package background runs work for which no request waits: loops that start, stop and can be
// woken.
//
// It owns when a pass runs, and what happens when it fails. It does not own what a pass does, or
// locks against other processes. If a pass fails or panics, this is logged, and the loop
// continues with the next pass when it is due. Stopping a loop cancels the context of the
// running pass and waits for it.
package background
