// Package envfile reads files of environment variables, in the format of systemd and Docker.
//
// The package owns the format, which has one NAME=VALUE on each line. It does not know which
// variables exist, and sets no variables. An error about the format contains the line number, and
// perhaps the name of a variable, but no value.
package envfile

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// quotable matches the names that an error may quote. A line of another form may be from a file with
// secrets, such as a key file: a key in base64 has small letters, or nothing after its padding.
var quotable = regexp.MustCompile(`^(export\s+)?[A-Z][A-Z0-9_]{0,63}\s*$`)

// Read returns the variables of a file as NAME=VALUE, in the order of the file. Each name must
// begin with the prefix, and must occur only once. Read skips blank lines, and lines that begin
// with #. Read removes quotes around a value, and expands nothing in the value.
func Read(name, prefix string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var pairs []string
	names := map[string]bool{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variable, value, found := strings.Cut(line, "=")
		switch {
		case !found, !quotable.MatchString(variable), !strings.HasPrefix(variable, prefix) && strings.Trim(value, "=") == "":
			return nil, fmt.Errorf("%s: line %d: must be NAME=VALUE, where NAME begins with %s and has only capitals, digits and _", name, number, prefix)
		case !strings.HasPrefix(variable, prefix) || strings.ContainsAny(variable, " \t"):
			return nil, fmt.Errorf("%s: line %d: %q is not a variable of this program, which begin with %s", name, number, variable, prefix)
		case names[variable]:
			return nil, fmt.Errorf("%s: line %d: %s is set above", name, number, variable)
		}
		names[variable] = true
		pairs = append(pairs, variable+"="+unquoted(strings.TrimSpace(value)))
	}
	return pairs, nil
}

func unquoted(value string) string {
	for _, quote := range []string{`"`, "'"} {
		if inner, begins := strings.CutPrefix(value, quote); begins && strings.HasSuffix(inner, quote) {
			return strings.TrimSuffix(inner, quote)
		}
	}
	return value
}
