package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// report prints the table, and writes it to a file if the options name a folder for results.
func (o options) report(ctx context.Context, out io.Writer, all []outcome) error {
	table := tableOf(all)
	if _, err := io.WriteString(out, table); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if o.results == "" {
		return nil
	}
	if err := os.MkdirAll(o.results, 0o755); err != nil {
		return fmt.Errorf("make the folder of results: %w", err)
	}
	file := filepath.Join(o.results, time.Now().Format(time.DateOnly)+".md")
	text := fmt.Sprintf("# Measured on %s\n\nCommit %s, %s, %d processors, %d repeats, scale %g. Ratios are medians, with the least and the greatest.\n\n%s",
		time.Now().Format(time.DateOnly), commit(ctx), runtime.Version(), runtime.NumCPU(), o.repeats, o.scale, table)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

func tableOf(all []outcome) string {
	var table strings.Builder
	table.WriteString("| Work | a second | limit | ratio | by processor time | goal | | held against |\n|---|---:|---:|---:|---:|---:|---|---|\n")
	for _, m := range all {
		cells := m.cells()
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", m.name, strings.Join(cells[:], " | "), m.result(), m.limit)
	}
	return table.String()
}

func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// textIn returns a text member of a JSON object.
func textIn(object []byte, member string) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return "", fmt.Errorf("read %s: %w", object, err)
	}
	var text string
	if err := json.Unmarshal(members[member], &text); err != nil {
		return "", fmt.Errorf("read %s of %s: %w", member, object, err)
	}
	return text, nil
}
