// Package failpoint marks the places before and after which a crash has different effects: each
// commit, each bank call, each webhook request.
//
// It owns the marks and, in a program built with the tag torture whose environment names a
// mark, the crash there. It does not own which marks a test tries, or what must be true
// afterwards. In other programs a mark does nothing.
//
// It fails by ending the process like a power cut, on purpose.
package failpoint
