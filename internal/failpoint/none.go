//go:build !torture

package failpoint

// Before marks the place before an action, and After the place after the action. In a program
// that is not built for tests they do nothing.
func Before(string) {}

// After is described with Before.
func After(string) {}
