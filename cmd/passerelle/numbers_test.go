package main

import (
	"io"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
)

// TestNumbersHaveALimit: each flag with a number or a duration has a tag that limits it. Ids need no
// limit, because nothing has an id below 1. Package otlp checks the ratio of the traces.
func TestNumbersHaveALimit(t *testing.T) {
	parser, err := newParser(&program{}, nil, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		flag, is := node.(*kong.Flag)
		if !is || flag.PlaceHolder == "ID" || flag.Name == "trace-ratio" || !numeric(flag) {
			return next(nil)
		}
		found[flag.Name] = true
		if flag.Tag.Get("least") == "" {
			t.Errorf("--%s has no tag least", flag.Name)
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"max-requests", "shutdown-timeout", "allow-ports", "limit", "skip-ids"} {
		if !found[want] {
			t.Errorf("the test does not find --%s", want)
		}
	}
}

func numeric(flag *kong.Flag) bool {
	target := flag.Target.Type()
	for target.Kind().String() == "slice" || target.Kind().String() == "ptr" {
		target = target.Elem()
	}
	return slices.Contains([]string{"int", "int64", "uint16", "float64"}, target.Kind().String())
}
