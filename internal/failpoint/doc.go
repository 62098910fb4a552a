// Package failpoint marks each commit, each bank call and each webhook request, because a crash
// just before it and a crash just after it have different effects.
//
// It owns the marks. It also owns the crash at a mark, in a program that was built with the tag
// torture and whose environment names the mark. It does not own which marks a test tries, or what
// must be true afterwards. In other programs a mark does nothing.
//
// It fails on purpose, by ending the process like a power cut.
package failpoint
