package main

import (
	"slices"

	"github.com/alecthomas/kong"

	"passerelle/internal/completion"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell to complete in: bash, zsh or fish."`
}

// Run prints the script that completes commands and flags in a shell.
func (s *completionCommand) Run(c *console, parser *kong.Kong) error {
	return completion.Write(c.out, s.Shell, completions(parser.Model.Node, ""))
}

// completions lists the completions for a node and the nodes below it.
func completions(node *kong.Node, path string) []completion.Junction {
	step := completion.Junction{Path: path}
	var below []completion.Junction
	for _, child := range node.Children {
		if !child.Hidden {
			step.Words = append(step.Words, child.Name)
			below = append(below, completions(child, path+" "+child.Name)...)
		}
	}
	for at := node; at != nil; at = at.Parent {
		for _, flag := range at.Flags {
			if !flag.Hidden {
				step.Words = append(step.Words, "--"+flag.Name)
			}
		}
	}
	slices.Sort(step.Words)
	return append([]completion.Junction{step}, below...)
}
