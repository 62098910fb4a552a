package sandbox

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A script is a list of words that controls the bank, for example in the label of a payment:
//
//	script = step *( "/" step ) [ "-" free text ]
//	step   = word [ "(" argument *( "," argument ) ")" ] [ ":" digits ( "s" | "m" | "h" | "d" ) ]
//
// Scripts need only characters that SEPA labels may contain. Labels for the public test connector
// of this API family, such as pdng/pdng/done, are valid scripts. The sandbox ignores the case of
// letters in a step, and spaces around a step.
type script struct {
	calls []call
	// ignored lists the unknown steps in their original form.
	ignored []string
}

// call is one step of a script.
type call struct {
	word string
	args []string
	// wait is the duration in the step, and timed reports whether the step has one.
	wait  time.Duration
	timed bool
}

var (
	stepForm = regexp.MustCompile(`^([a-z]{3,4})(?:\(([a-z0-9_, ]*)\))?(?::([0-9]{1,4})([smhd]))?$`)

	units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
)

// readLabel reads the script in a label. It returns false for a label that is only text. If a label
// has a dash, one known word before the dash makes it a script, and unknown words are ignored.
// Without a dash, all words must be known, because the label may be ordinary text.
func readLabel(label string) (script, bool) {
	steps, _, dashed := strings.Cut(label, "-")
	s := readScript(steps)
	return s, len(s.calls) > 0 && (dashed || len(s.ignored) == 0)
}

func readScript(steps string) script {
	var s script
	for step := range strings.SplitSeq(steps, "/") {
		if c, known := readStep(step); known {
			s.calls = append(s.calls, c)
			continue
		}
		s.ignored = append(s.ignored, strings.TrimSpace(step))
	}
	return s
}

func readStep(text string) (call, bool) {
	form := stepForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if form == nil || words[form[1]] == nil {
		return call{}, false
	}
	c := call{word: form[1], timed: form[3] != ""}
	for arg := range strings.SplitSeq(form[2], ",") {
		if arg = strings.TrimSpace(arg); arg != "" {
			c.args = append(c.args, arg)
		}
	}
	if c.timed {
		count, _ := strconv.Atoi(form[3]) // the pattern allows up to four digits
		c.wait = time.Duration(count) * units[form[4]]
	}
	return c, true
}

// arg returns the argument at a position, or "".
func (c call) arg(n int) string {
	if n < len(c.args) {
		return c.args[n]
	}
	return ""
}

// number returns the argument at a position if it is a positive number, and otherwise the default.
func (c call) number(n, otherwise int) int {
	if number, err := strconv.Atoi(c.arg(n)); err == nil && number > 0 {
		return number
	}
	return otherwise
}

// waits returns the duration in the step, or the default.
func (c call) waits(usual time.Duration) time.Duration {
	if c.timed {
		return c.wait
	}
	return usual
}
