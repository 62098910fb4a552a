package main

import "runtime"

type versionCommand struct{}

// buildView is the output of version.
type buildView struct {
	Version   string `json:"version"`
	Committed string `json:"committed"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
}

// Run prints the version, commit time, Go version and platform of the binary.
func (versionCommand) Run(c *console) error {
	return c.show(buildView{version, committed, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
}
