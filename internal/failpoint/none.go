//go:build !torture

package failpoint

// Before marks the place before something happens, and After the one after it. In a
// program that is not built for tests they are nothing.
func Before(string) {}

// After is described with Before.
func After(string) {}
