//go:build !torture

package failpoint

// Before marks the place before an action. It does nothing in a program without the build tag for
// crash tests.
func Before(string) {}

// After marks the place after an action. It does nothing in a program without the build tag for
// crash tests.
func After(string) {}
