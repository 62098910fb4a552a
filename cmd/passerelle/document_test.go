package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

const document = "../../docs/commands.md"

func TestDocumentIsFresh(t *testing.T) {
	parser, err := newParser(&program{}, nil, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	want := describe(parser.Model)
	if *update {
		if err := os.WriteFile(document, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatalf("read the page, which -update writes: %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/commands.md is not what the commands are; run make generate: (-want +got)\n%s", diff)
	}
}

const introduction = "# Commands\n\n" + generated + `
This page lists every command of %[1]spasserelle%[1]s, with its flags and environment variables.

- **Exit status.** A command exits with 0 on success, with 1 on failure, and with 2 on incorrect use. An error is one line on
  standard error.
- **Output for programs.** With %[1]s--json%[1]s, a command prints only one JSON value on standard output.
- **Environment.** Each flag has a variable. The command line takes precedence. Unknown flags and unknown variables that begin with
  %[1]sPASSERELLE_%[1]s are errors, except %[1]sPASSERELLE_TEST_…%[1]s.
- **File.** With %[1]s--config FILE%[1]s or %[1]sPASSERELLE_CONFIG%[1]s, every command reads variables from a file with one line
  %[1]sNAME=VALUE%[1]s each. The environment takes precedence.
- **Database.** Commands other than %[1]sdev%[1]s and %[1]sserve%[1]s work directly on the database, even while the service runs.
- **Secrets.** The command that creates a secret prints it once. Only %[1]sdev%[1]s prints the secrets of its sandbox at every start, and
  keeps them in its data folder.
`

func describe(app *kong.Application) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, introduction, "`")
	for _, command := range app.Leaves(true) {
		describeCommand(&page, command)
	}
	return page.Bytes()
}

func describeCommand(page io.Writer, command *kong.Node) {
	name, aliases := "", ""
	for node := command; node.Parent != nil; node = node.Parent {
		name = " " + node.Name + name
	}
	if len(command.Aliases) > 0 {
		aliases = fmt.Sprintf(" Also called `%s`.", strings.Join(command.Aliases, "`, `"))
	}
	fmt.Fprintf(page, "\n## passerelle%s\n\n%s%s\n", name, command.Help, aliases)
	rows := rows(command)
	if len(rows) > 0 {
		fmt.Fprint(page, "\n| Argument | Environment | Default | Meaning |\n|---|---|---|---|\n", strings.Join(rows, ""))
	}
}

// rows returns the arguments and flags of a command and of its groups, without the flags that every
// command has.
func rows(command *kong.Node) []string {
	var all []string
	for _, argument := range command.Positional {
		all = append(all, fmt.Sprintf("| `%s` | | required | %s |\n", strings.ToUpper(argument.Name), inRow(argument.Help)))
	}
	for node := command; node.Parent != nil; node = node.Parent {
		for _, flag := range node.Flags {
			all = append(all, fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", inRow(written(flag)), variable(flag), byDefault(flag), inRow(flag.Help)))
		}
	}
	return all
}

func written(flag *kong.Flag) string {
	if flag.PlaceHolder == "" {
		return "--" + flag.Name
	}
	return "--" + flag.Name + " " + flag.PlaceHolder
}

func byDefault(flag *kong.Flag) string {
	switch {
	case flag.Required:
		return "required"
	case flag.HasDefault:
		return "`" + flag.Default + "`"
	}
	return ""
}

func inRow(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
