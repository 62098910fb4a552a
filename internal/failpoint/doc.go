// Package failpoint marks the places of the program before and after which it makes a
// difference to die: each commit, each call of a bank, each webhook sent.
//
// It owns the marks and, in a program built with the tag torture whose environment
// names one, the death there; it does not own which of them a test tries, nor what has
// to be true afterwards. In every other program a mark is nothing. It fails by ending
// the process as a power cut would, which is what it is for.
package failpoint
