//go:build !torture

package servicetest

// tags are those that processes are built with: none, as for everybody.
const tags = ""
