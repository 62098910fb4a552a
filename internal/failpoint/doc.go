// Package failpoint marks each commit, each webhook request, and the bank calls of payments and
// syncs. A crash just before such an action has other effects than a crash just after it.
//
// The package owns the marks. It also owns the crash at a mark. A program crashes only if a test
// has linked it for crashes and its environment names the mark. Otherwise, a mark does nothing. The
// package does not decide which marks a test tries, or what must be true afterwards.
//
// The package fails on purpose: it ends the process like a power cut.
package failpoint
