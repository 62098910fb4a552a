package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

// profiled wraps a side so that it writes profiles of its last measurement. The profiles include
// the clients, which run in the same process.
func (o options) profiled(name string, one side) side {
	base := filepath.Join(o.profiles, strings.NewReplacer(" ", "-", ",", "").Replace(name))
	return func(ctx context.Context) (_ measured, err error) {
		if err := errors.Join(os.MkdirAll(o.profiles, 0o755), allocations(base+".before")); err != nil {
			return measured{}, err
		}
		file, err := os.Create(base + ".cpu")
		if err != nil {
			return measured{}, fmt.Errorf("keep a profile: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close(), allocations(base+".after")) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return measured{}, fmt.Errorf("profile: %w", err)
		}
		defer pprof.StopCPUProfile()
		return one(ctx)
	}
}

// allocations writes the profile of all allocations of the process so far.
func allocations(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep a profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pprof.Lookup("allocs").WriteTo(file, 0)
}
