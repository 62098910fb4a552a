package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// A shape lists the keys of an object with their kinds, in one or several lines:
//
//	Code    code str, type (temporary), access (single|standard), expires_in int
//	Page    _links Links, total int, card str?, loan? Loan
//
// The kinds of values are:
//
//	int num bit         a whole number, any number, 0 or 1
//	str text digits     a string, a string that is not empty, a string of decimal digits
//	bool obj any null   a boolean, an object, any value, null
//	date time           2026-11-20, 2026-11-20 09:00:00
//	uuid url            a UUID, a URL
//	(a|b|c)             one of these words
//	[kind] [kind]+      a list, a list that is not empty
//	{kind}              an object with any keys
//	Name                another shape
//
// A question mark after a kind allows null. A question mark after a key allows the key to be
// absent. Further keys are allowed, unless the name is followed by "exactly".
type shape struct {
	name    string
	exactly bool
	members []member
}

type member struct {
	key      string
	optional bool
	kind     string
}

type shapes map[string]shape

func read(t testing.TB, texts ...string) shapes {
	t.Helper()
	all := shapes{}
	var last string
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		s := all[last]
		if !unicode.IsSpace(rune(line[0])) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if _, twice := all[name]; twice {
				t.Fatalf("two shapes of the name %s", name)
			}
			line, s.exactly = strings.CutPrefix(strings.TrimSpace(rest), "exactly")
			s, last = shape{name: name, exactly: s.exactly}, name
		}
		for declared := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(declared) != "" {
				s.members = append(s.members, readMember(t, declared))
			}
		}
		all[last] = s
	}
	all.close(t)
	return all
}

func readMember(t testing.TB, declared string) member {
	t.Helper()
	words := strings.Fields(declared)
	if len(words) != 2 {
		t.Fatalf("%q is not a key and a kind", declared)
	}
	key, optional := strings.CutSuffix(words[0], "?")
	return member{key: key, optional: optional, kind: words[1]}
}

func (all shapes) close(t testing.TB) {
	t.Helper()
	for _, s := range all {
		for _, m := range s.members {
			if !all.known(m.kind) {
				t.Fatalf("%s.%s is of no kind: %q", s.name, m.key, m.kind)
			}
		}
	}
}

func (all shapes) known(kind string) bool {
	kind = strings.TrimSuffix(kind, "?")
	inner, nested := inside(kind)
	if nested {
		return all.known(inner)
	}
	_, named := all[kind]
	return named || kinds[kind] != nil || strings.HasPrefix(kind, "(") && strings.HasSuffix(kind, ")")
}

func inside(kind string) (inner string, nested bool) {
	kind = strings.TrimSuffix(kind, "+")
	for _, pair := range []string{"[]", "{}"} {
		if strings.HasPrefix(kind, pair[:1]) && strings.HasSuffix(kind, pair[1:]) {
			return kind[1 : len(kind)-1], true
		}
	}
	return "", false
}

// fits returns the differences between a value and a kind, as "place: complaint".
func (all shapes) fits(place, kind string, value any) []string {
	kind, nullable := strings.CutSuffix(kind, "?")
	inner, nested := inside(kind)
	s, named := all[kind]
	switch {
	case value == nil && nullable:
		return nil
	case nested && strings.HasPrefix(kind, "["):
		return all.list(place, inner, strings.HasSuffix(kind, "+"), value)
	case nested:
		return all.dictionary(place, inner, value)
	case named:
		return all.object(place, s, value)
	case strings.HasPrefix(kind, "("):
		word, isText := value.(string)
		if isText && slices.Contains(strings.Split(kind[1:len(kind)-1], "|"), word) {
			return nil
		}
	case kinds[kind](value):
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, want %s", place, shown(value), kind)}
}

func (all shapes) list(place, inner string, some bool, value any) []string {
	items, isList := value.([]any)
	if !isList || some && len(items) == 0 {
		return []string{fmt.Sprintf("%s: %s, want a list with items", place, shown(value))}
	}
	var faults []string
	for i, item := range items {
		faults = append(faults, all.fits(place+"["+strconv.Itoa(i)+"]", inner, item)...)
	}
	return faults
}

func (all shapes) dictionary(place, inner string, value any) []string {
	members, isObject := value.(map[string]any)
	if !isObject {
		return []string{fmt.Sprintf("%s: %s, want an object", place, shown(value))}
	}
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		faults = append(faults, all.fits(place+"."+key, inner, members[key])...)
	}
	return faults
}

func (all shapes) object(place string, s shape, value any) []string {
	supplied, isObject := value.(map[string]any)
	if !isObject {
		return []string{fmt.Sprintf("%s: %s, want a %s", place, shown(value), s.name)}
	}
	var faults []string
	named := map[string]bool{}
	for _, m := range s.members {
		named[m.key] = true
		inner, has := supplied[m.key]
		if has {
			faults = append(faults, all.fits(place+"."+m.key, m.kind, inner)...)
		} else if !m.optional {
			faults = append(faults, fmt.Sprintf("%s.%s: is missing", place, m.key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(supplied)) {
		if s.exactly && !named[key] {
			faults = append(faults, fmt.Sprintf("%s.%s: is not to be there", place, key))
		}
	}
	return faults
}

func shown(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw[:min(len(raw), 80)])
}

var kinds = map[string]func(any) bool{
	"int":    written(`-?(0|[1-9][0-9]*)`),
	"num":    written(`-?(0|[1-9][0-9]*)(\.[0-9]+)?`),
	"bit":    written(`0|1`),
	"bool":   func(v any) bool { _, is := v.(bool); return is },
	"obj":    func(v any) bool { _, is := v.(map[string]any); return is },
	"null":   func(v any) bool { return v == nil },
	"any":    func(any) bool { return true },
	"str":    spelled(`(?s).*`),
	"text":   spelled(`(?s).+`),
	"digits": spelled(`[0-9]+`),
	"date":   spelled(`[0-9]{4}-[0-9]{2}-[0-9]{2}`),
	"time":   spelled(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}`),
	"uuid":   spelled(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
	"url":    spelled(`https?://[^ ]+`),
}

// written returns a check of a number's spelling. The check compares texts, because some programs
// cannot read 1.0 as an integer.
func written(pattern string) func(any) bool {
	form := regexp.MustCompile(`^(` + pattern + `)$`)
	return func(v any) bool {
		n, isNumber := v.(json.Number)
		return isNumber && form.MatchString(string(n))
	}
}

func spelled(pattern string) func(any) bool {
	form := regexp.MustCompile(`^(` + pattern + `)$`)
	return func(v any) bool {
		text, isText := v.(string)
		return isText && form.MatchString(text)
	}
}

func TestShapes(t *testing.T) {
	all := read(t, `
Small   id int, name? str?, at time, of (a|b)?
        more [Inner]+, sums {num}
Inner   exactly flag bit`)
	const good = `{"id":1,"name":null,"at":"2026-11-20 09:00:00","of":"a","more":[{"flag":0}],"sums":{"EUR":-1.50},"further":[]}`
	for _, c := range []struct{ from, to, fault string }{
		{`"id":1`, `"id":"1"`, `.id: "1", want int`},
		{`"id":1`, `"id":1.0`, `.id: 1.0, want int`},
		{`"id":1,`, ``, `.id: is missing`},
		{`"name":null,`, ``, ``},
		{`null`, `7`, `.name: 7, want str`},
		{`2026-11-20 09`, `2026-11-20T09`, `.at: "2026-11-20T09:00:00", want time`},
		{`"a"`, `null`, ``},
		{`"a"`, `"c"`, `.of: "c", want (a|b)`},
		{`{"flag":0}`, ``, `.more: [], want a list with items`},
		{`"flag":0`, `"flag":false`, `.more[0].flag: false, want bit`},
		{`"flag":0`, `"flag":0,"x":1`, `.more[0].x: is not to be there`},
		{`-1.50`, `"-1.50"`, `.sums.EUR: "-1.50", want num`},
		{`{"EUR":-1.50}`, `[]`, `.sums: [], want an object`},
	} {
		faults := strings.Join(all.fits("", "Small", decoded(t, []byte(strings.Replace(good, c.from, c.to, 1)))), "; ")
		if faults != c.fault {
			t.Errorf("%s for %s: %q, want %q", c.to, c.from, faults, c.fault)
		}
	}
}

func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("not JSON: %v: %s", err, raw)
	}
	return value
}
