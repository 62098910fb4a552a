//go:build torture

package servicetest

// tags are those that processes are built with: they die at marks where the tests
// want that.
const tags = "torture"
