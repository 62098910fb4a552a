// Package background runs work that may last longer than a request: loops, pools of work, and calls
// that continue when their client leaves.
//
// It owns the times of a loop's passes, and the handling of failures. It does not own the work, or
// locks against other processes. When a pass fails or panics, the loop logs this, and runs the next
// pass when it is due. Each Stop method cancels the contexts of running work and waits for the work
// to end.
package background
