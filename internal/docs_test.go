package internal_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/settings"
	"passerelle/webhook"
)

var update = flag.Bool("update", false, "write the import table of ARCHITECTURE.md anew")

// page is a Markdown file, with its quoted code and its links.
type page struct {
	path   string
	text   string
	quoted []quoted
	links  []quoted
}

type quoted struct {
	line int
	text string
}

var (
	spanForm = regexp.MustCompile("`([^`]+)`")
	linkForm = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	for _, name := range repositoryFiles(t) {
		if strings.HasSuffix(name, ".md") {
			all = append(all, readPage(t, name))
		}
	}
	return all
}

func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	return all
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	p := page{path: name, text: string(content)}
	fence, inFence := "", false
	for i, line := range strings.Split(p.text, "\n") {
		if language, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			fence, inFence = language, !inFence
			continue
		}
		if inFence {
			if fence == "sh" || fence == "" {
				p.quoted = append(p.quoted, quoted{i + 1, line})
			}
			continue
		}
		for _, match := range spanForm.FindAllStringSubmatch(line, -1) {
			p.quoted = append(p.quoted, quoted{i + 1, match[1]})
		}
		for _, match := range linkForm.FindAllStringSubmatch(spanForm.ReplaceAllString(line, ""), -1) {
			p.links = append(p.links, quoted{i + 1, match[1]})
		}
	}
	return p
}

// facts holds the names that pages may use.
type facts struct {
	files     []string
	places    map[string]bool // files and folders
	commands  map[string]map[string]bool
	variables map[string]bool
	settings  map[string]bool
	targets   map[string]bool
	tests     map[string]bool
	benchmark map[string]bool // flags of bench
	exported  map[string]map[string]bool
	calls     map[string]map[string]bool // methods by path of the API
}

func gatherFacts(t *testing.T) *facts {
	t.Helper()
	f := &facts{
		files: repositoryFiles(t), places: map[string]bool{}, commands: map[string]map[string]bool{"": {}},
		variables: map[string]bool{}, settings: map[string]bool{}, targets: map[string]bool{}, tests: map[string]bool{},
		benchmark: map[string]bool{}, exported: map[string]map[string]bool{}, calls: map[string]map[string]bool{},
	}
	for _, name := range f.files {
		for ; name != "."; name = path.Dir(name) {
			f.places[name] = true
		}
	}
	f.readCommands(t)
	f.readCode(t)
	f.readAPI(t)
	for _, key := range settings.Keys() {
		for _, name := range append(key.Aliases, key.Name) {
			f.settings[name] = true
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		f.targets[match[1]] = true
	}
	for _, match := range regexp.MustCompile(`flag\.\w+Var\(&[\w.]+, "(\w+)"`).FindAllStringSubmatch(read(t, "bench/main.go"), -1) {
		f.benchmark[match[1]] = true
	}
	for _, p := range modulePackages(t) {
		f.exported[p.Name] = exportedNames(p)
	}
	return f
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var (
	commandHeading = regexp.MustCompile(`(?m)^## passerelle ([a-z -]+)$`)
	flagForm       = regexp.MustCompile(`--([a-z][a-z-]*[a-z])\b`)
	aliasForm      = regexp.MustCompile("Also called `([a-z-]+)`")
	variableForm   = regexp.MustCompile(`PASSERELLE_[A-Z_]*[A-Z]\b`)
)

func (f *facts) readCommands(t *testing.T) {
	t.Helper()
	text := read(t, "docs/commands.md")
	headings := commandHeading.FindAllStringSubmatchIndex(text, -1)
	for i, heading := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		name, section := text[heading[2]:heading[3]], text[heading[1]:end]
		flags := map[string]bool{"json": true, "help": true, "config": true}
		for _, row := range regexp.MustCompile("(?m)^\\| `(--[a-z-]+)").FindAllStringSubmatch(section, -1) {
			flags[strings.TrimPrefix(row[1], "--")] = true
		}
		f.commands[name] = flags
		for _, alias := range aliasForm.FindAllStringSubmatch(section, -1) {
			f.commands[name[:strings.LastIndex(name, " ")+1]+alias[1]] = flags
		}
		for group := name; group != ""; {
			group = group[:max(strings.LastIndex(group, " "), 0)]
			if f.commands[group] == nil {
				f.commands[group] = map[string]bool{}
			}
			for name := range flags {
				f.commands[group][name] = true
			}
		}
	}
}

var testForm = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)

func (f *facts) readCode(t *testing.T) {
	t.Helper()
	for _, name := range f.files {
		if name == "internal/docs_test.go" || !slices.Contains([]string{".go", ".yml", ""}, path.Ext(name)) {
			continue
		}
		text := read(t, name)
		for _, variable := range variableForm.FindAllString(text, -1) {
			f.variables[variable] = true
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, match := range testForm.FindAllStringSubmatch(text, -1) {
				f.tests[match[1]] = true
			}
		}
	}
	for _, variable := range variableForm.FindAllString(read(t, "docs/commands.md"), -1) {
		f.variables[variable] = true
	}
}

var controlForm = regexp.MustCompile(`(?m)^\t"([A-Z]+) (/[^"]*)":`)

func (f *facts) addCall(method, path string) {
	if f.calls[path] == nil {
		f.calls[path] = map[string]bool{}
	}
	f.calls[path][method] = true
}

func (f *facts) readAPI(t *testing.T) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(read(t, "docs/openapi.json")))).Decode(&document); err != nil {
		t.Fatalf("read the API document: %v", err)
	}
	for _, match := range controlForm.FindAllStringSubmatch(read(t, "testbank/control/control.go"), -1) {
		f.addCall(match[1], "/banks/{bank}"+match[2])
	}
	f.addCall("GET", "/banks")
	for name, item := range document.Paths {
		f.calls[name] = map[string]bool{}
		for method := range item {
			f.calls[name][strings.ToUpper(method)] = true
		}
	}
}

func exportedNames(p pkg) map[string]bool {
	names := map[string]bool{}
	for _, file := range p.files {
		for name, object := range file.Scope.Objects {
			names[name] = object != nil
		}
	}
	return names
}

// checks lists the checks of quoted text. Each check returns the parts that do not exist.
var checks = []func(*facts, page, string) []string{
	(*facts).missingPaths, (*facts).missingCommands, (*facts).missingVariables, (*facts).missingSettings,
	(*facts).missingTargets, (*facts).missingTests, (*facts).missingNames, (*facts).missingCalls, (*facts).missingEvents,
}

func TestDocsNameWhatExists(t *testing.T) {
	f := gatherFacts(t)
	for _, p := range pages(t) {
		for _, q := range p.quoted {
			for _, check := range checks {
				for _, missing := range check(f, p, q.text) {
					t.Errorf("%s:%d: %s does not exist", p.path, q.line, missing)
				}
			}
		}
	}
}

var defaultForm = regexp.MustCompile("setting\\s+`([a-z_.]+)`,\\s+`([^`]+)` by default")

// TestDocsNameTheDefaults compares the defaults in pages with the defaults of the settings.
func TestDocsNameTheDefaults(t *testing.T) {
	defaults, named := map[string]string{}, 0
	for _, key := range settings.Keys() {
		defaults[key.Name] = key.Default
	}
	for _, p := range pages(t) {
		for _, match := range defaultForm.FindAllStringSubmatch(p.text, -1) {
			named++
			if want := defaults[match[1]]; match[2] != want {
				t.Errorf("%s says that %s is %s by default. In internal/settings/catalogue.go it is %s.", p.path, match[1], match[2], want)
			}
		}
	}
	if named == 0 {
		t.Error("no page names a default: defaultForm no longer finds them")
	}
}

func TestDocsChecksFindWhatIsMissing(t *testing.T) {
	f := gatherFacts(t)
	for _, text := range []string{
		"internal/nowhere", "payment/nothing.go", "nothing.go", "connector/<standard>/nothing.go", "./scripts/nothing",
		"passerelle nothing", "passerelle keys nothing", "keys nothing", "passerelle serve --nothing", "go run ./cmd/passerelle dev --retire",
		"--nothing", "PASSERELLE_NOTHING", "…_NOTHING", "payment.nothing", "curl -s $BASE/config -d payment.nothing=1", "make nothing",
		"TestNothingAtAll", "go test -run 'NothingAtAll$' ./internal", "webhook.Nothing", "*payment.Nothing", "nothing.Nothing",
		"GET /nothing", "DELETE /2.0/config", "PUT …/nothing", "/users/me/nothing", "curl -s $BASE/payments/$ID/nothing",
		"go run ./bench -nothing x", "ACCOUNT_NOTHING",
	} {
		found := false
		for _, check := range checks {
			found = found || len(check(f, page{path: "docs/made-up.md"}, text)) > 0
		}
		if !found {
			t.Errorf("%q passes", text)
		}
	}
}

var pathForm = regexp.MustCompile(`^\.?/?([\w.-]+(?:/[\w.*<>-]*)*)$`)

func (f *facts) missingPaths(p page, text string) []string {
	var missing []string
	for _, word := range strings.Fields(text) {
		match := pathForm.FindStringSubmatch(strings.Trim(word, "'\","))
		if match == nil || strings.HasPrefix(word, "/") {
			continue
		}
		name := strings.TrimRight(match[1], "/")
		name = strings.TrimSuffix(name, "/...")
		first, _, below := strings.Cut(match[1], "/")
		folder := below && f.places[first] && first != "bin"
		code := slices.Contains([]string{".go", ".sql", ".md", ".mod", ".yml"}, path.Ext(name)) && !strings.HasPrefix(word, "*")
		if (folder || code) && !f.has(p, name) {
			missing = append(missing, "the path "+word)
		}
	}
	return missing
}

var placeholder = regexp.MustCompile(`<[^>]*>`)

// has reports whether a path exists, relative to the module or to the page. A placeholder matches
// any name.
func (f *facts) has(p page, name string) bool {
	pattern := placeholder.ReplaceAllString(name, "*")
	for place := range f.places {
		for _, from := range []string{pattern, path.Join(path.Dir(p.path), pattern)} {
			if matched, err := path.Match(from, place); err == nil && matched {
				return true
			}
		}
	}
	return false
}

var otherPrograms = regexp.MustCompile(`^(curl|git|openssl|printf|psql|pg_dump|pg_restore|go (tool|build|mod|get|install|vet)|docker|helm|kubectl|CREATE|INSERT)\b`)

var (
	commandForm = regexp.MustCompile(`(?:^|[ /])passerelle((?: [a-z][a-z|-]*)+)`)
	wordForm    = regexp.MustCompile(`^[a-z][a-z|-]*$`)
	benchForm   = regexp.MustCompile(`(?:^| )-([a-z]+)\b`)
)

func (f *facts) missingCommands(p page, text string) []string {
	text = strings.ReplaceAll(text, "go run ./cmd/passerelle", "passerelle")
	if otherPrograms.MatchString(text) {
		return nil
	}
	if strings.Contains(text, "./bench ") || path.Dir(p.path) == "bench" && strings.HasPrefix(text, "-") {
		return f.missingBenchFlags(text)
	}
	var missing []string
	words := f.commandWords(text)
	command, ok := f.command(words)
	if !ok {
		missing = append(missing, "the command passerelle "+strings.Join(words, " "))
	}
	if command == "" && strings.Contains(text, "./") {
		return missing // the text is for another program of the module
	}
	for _, match := range flagForm.FindAllStringSubmatch(text, -1) {
		if !f.commands[command][match[1]] {
			missing = append(missing, "the flag --"+match[1]+" of passerelle "+command)
		}
	}
	return missing
}

func (f *facts) commandWords(text string) []string {
	if match := commandForm.FindStringSubmatch(text); match != nil {
		return strings.Fields(match[1])
	}
	words := strings.Fields(text)
	if len(words) > 1 && f.commands[words[0]] != nil && wordForm.MatchString(words[1]) {
		return words
	}
	return nil
}

func (f *facts) missingBenchFlags(text string) []string {
	var missing []string
	for _, match := range benchForm.FindAllStringSubmatch(text, -1) {
		if !f.benchmark[match[1]] {
			missing = append(missing, "the flag -"+match[1]+" of bench")
		}
	}
	return missing
}

// command follows words down the tree of commands. Words after a command are the command's
// arguments. In a word such as a|b, each alternative must be a command.
func (f *facts) command(words []string) (name string, ok bool) {
	for _, word := range words {
		if name != "" && !f.group(name) || !wordForm.MatchString(word) {
			return name, true
		}
		for _, alternative := range strings.Split(word, "|") {
			if f.commands[strings.TrimSpace(name+" "+alternative)] == nil {
				return name, false
			}
		}
		first, _, _ := strings.Cut(word, "|")
		name = strings.TrimSpace(name + " " + first)
	}
	return name, true
}

func (f *facts) group(name string) bool {
	for command := range f.commands {
		if strings.HasPrefix(command, name+" ") {
			return true
		}
	}
	return false
}

var shortenedVariable = regexp.MustCompile(`…(_[A-Z_]*[A-Z])\b`)

func (f *facts) missingVariables(_ page, text string) []string {
	var missing []string
	for _, variable := range variableForm.FindAllString(text, -1) {
		if !f.variables[variable] {
			missing = append(missing, "the variable "+variable)
		}
	}
	for _, match := range shortenedVariable.FindAllStringSubmatch(text, -1) {
		ends := func(variable string) bool { return strings.HasSuffix(variable, match[1]) }
		if !slices.ContainsFunc(slices.Collect(keys(f.variables)), ends) {
			missing = append(missing, "a variable that ends in "+match[1])
		}
	}
	return missing
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

var (
	dottedForm  = regexp.MustCompile(`^[a-z_]+(?:\.[a-z_]+)+$`)
	dottedInput = regexp.MustCompile(` -d ([a-z_]+(?:\.[a-z_]+)+)=`)
)

// dotted lists names with dots that are neither settings nor files of the module.
var dotted = map[string]string{
	"_links.next":      "a member of lists",
	"connection.state": "a member of the body of CONNECTION_SYNCED",
	"ingress.hosts":    "a value of the chart",
	"req.url":          "a property of a request in Node",
	"webview.origins":  "a key of the configuration of an application",
	"passerelle.db":    "the database of dev",
}

func (f *facts) missingSettings(_ page, text string) []string {
	var missing []string
	names := []string{}
	if dottedForm.MatchString(text) {
		names = append(names, text)
	}
	for _, match := range dottedInput.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	for _, name := range names {
		file := slices.Contains([]string{".go", ".sql", ".md", ".mod", ".yml", ".json", ".txt", ".example"}, path.Ext(name))
		if !file && dotted[name] == "" && !f.settings[name] {
			missing = append(missing, "the setting "+name)
		}
	}
	return missing
}

var targetForm = regexp.MustCompile(`(?:^|\s)make ([a-z]+)`)

func (f *facts) missingTargets(_ page, text string) []string {
	var missing []string
	for _, match := range targetForm.FindAllStringSubmatch(text, -1) {
		if !f.targets[match[1]] {
			missing = append(missing, "the target of make "+match[1])
		}
	}
	return missing
}

var (
	testNameForm = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	runForm      = regexp.MustCompile(`-run[ =]'?"?([^\s'"/]+)`)
)

func (f *facts) missingTests(_ page, text string) []string {
	var missing []string
	for _, name := range testNameForm.FindAllString(text, -1) {
		if !f.tests[name] {
			missing = append(missing, "the test "+name)
		}
	}
	for _, match := range runForm.FindAllStringSubmatch(text, -1) {
		pattern, err := regexp.Compile(match[1])
		if err != nil || !slices.ContainsFunc(slices.Collect(keys(f.tests)), pattern.MatchString) {
			missing = append(missing, "a test that matches "+match[1])
		}
	}
	return missing
}

var nameForm = regexp.MustCompile(`(?:^|[\s*(&])([a-z]+)\.([A-Z]\w*)`)

// otherPackages lists names before a dot that are not packages of this module.
var otherPackages = map[string]bool{"context": true, "fmt": true, "tx": true}

func (f *facts) missingNames(_ page, text string) []string {
	var missing []string
	for _, match := range nameForm.FindAllStringSubmatch(text, -1) {
		if names, ours := f.exported[match[1]]; ours && !names[match[2]] || !ours && !otherPackages[match[1]] {
			missing = append(missing, "the name "+match[1]+"."+match[2])
		}
	}
	return missing
}

var (
	callForm = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE) (…?/[^\s?]*)`)
	bareForm = regexp.MustCompile(`^(…?/[^\s?]*)(?:\?\S*)?$`)
	curlForm = regexp.MustCompile(`\$BASE(/[^\s?"']*)`)
)

// beside lists addresses outside of the API, and folders of a machine.
var beside = []string{
	"/webview", "/console", "/healthz", "/readyz", "/metrics", "/docs", "/debug/pprof", "/sandbox/receiver", "/sandbox/shop", "/sandbox/bank",
	"/auth/webview", "/auth/share", "/v1/webhook-listener", "/etc/passerelle", "/usr/share/passerelle", "/var/lib/passerelle", "/run/secrets/passerelle",
	"/backups",
}

// missingCalls checks calls of the API. An ellipsis at the beginning or at the end of an address
// matches any parts.
func (f *facts) missingCalls(_ page, text string) []string {
	var missing []string
	for _, match := range callForm.FindAllStringSubmatch(text, -1) {
		if !f.call(match[1], match[2]) {
			missing = append(missing, "the call "+match[1]+" "+match[2])
		}
	}
	for _, form := range []*regexp.Regexp{bareForm, curlForm} {
		for _, match := range form.FindAllStringSubmatch(text, -1) {
			if !f.call("", match[1]) {
				missing = append(missing, "the address "+match[1])
			}
		}
	}
	return missing
}

func (f *facts) call(method, address string) bool {
	address, shortened := strings.CutPrefix(address, "…")
	address = strings.TrimPrefix(address, "/2.0")
	begins := func(prefix string) bool { return strings.HasPrefix(address, prefix) }
	if slices.ContainsFunc(beside, begins) || address == "" || address == "/" {
		return true
	}
	address, open := strings.CutSuffix(address, "/…")
	for pattern, methods := range f.calls {
		if (method == "" || methods[method]) && sameAddress(pattern, strings.Trim(address, "/"), shortened, open || method == "") {
			return true
		}
	}
	return false
}

func sameAddress(pattern, address string, beginningOut, endOut bool) bool {
	patterns, parts := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(address, "/")
	if len(parts) > len(patterns) || len(parts) < len(patterns) && !beginningOut && !endOut {
		return false
	}
	if beginningOut {
		patterns = patterns[len(patterns)-len(parts):]
	}
	for i, part := range parts {
		parameter := strings.HasPrefix(patterns[i], "{")
		supplied := part == "me" || strings.ContainsAny(part, "{$<") || strings.Trim(part, "0123456789") == ""
		if parameter && !supplied || !parameter && patterns[i] != part {
			return false
		}
	}
	return true
}

var eventForm = regexp.MustCompile(`\b(?:USER|ACCOUNTS?|CONNECTION|SUBSCRIPTION|PAYMENT|TRANSACTION)_[A-Z_]+\b`)

func (f *facts) missingEvents(_ page, text string) []string {
	if strings.HasPrefix(text, "Fault ") {
		return nil // the name is an error code of a banking standard
	}
	var missing []string
	for _, name := range eventForm.FindAllString(text, -1) {
		if _, ok := webhook.Lookup(name); !ok && !strings.Contains(text, "$"+name) && !strings.Contains(text, name+"=") && !strings.Contains(text, "PASSERELLE_") {
			missing = append(missing, "the event "+name)
		}
	}
	return missing
}

var (
	usedForm     = regexp.MustCompile(`\$\{?([A-Z][A-Z_]*)`)
	assignedForm = regexp.MustCompile(`(?:^|\s)([A-Z][A-Z_]*)=`)
)

// fromElsewhere lists variables of commands that another program sets.
var fromElsewhere = map[string]bool{"SIGNATURE_SCHEME": true}

// TestDocsSetTheirVariables checks that the commands of a page set each variable before they use it,
// because readers type the commands in their order.
func TestDocsSetTheirVariables(t *testing.T) {
	for _, p := range pages(t) {
		fence, set := "", map[string]bool{}
		for i, line := range strings.Split(p.text, "\n") {
			if language, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
				fence = language
				continue
			}
			if fence != "sh" {
				continue
			}
			for _, used := range usedForm.FindAllStringSubmatch(line, -1) {
				if name := used[1]; !set[name] && !fromElsewhere[name] {
					t.Errorf("%s:%d: no command before sets %s", p.path, i+1, name)
				}
			}
			for _, assigned := range assignedForm.FindAllStringSubmatch(line, -1) {
				set[assigned[1]] = true
			}
		}
	}
}

func TestLinksOfDocsLead(t *testing.T) {
	f := gatherFacts(t)
	anchors := map[string]map[string]bool{}
	all := pages(t)
	for _, p := range all {
		anchors[p.path] = headingsOf(p)
	}
	for _, p := range all {
		for _, link := range p.links {
			if strings.Contains(link.text, "://") {
				continue
			}
			target, anchor, _ := strings.Cut(link.text, "#")
			file := p.path
			if target != "" {
				file = path.Join(path.Dir(p.path), target)
			}
			if !f.places[file] {
				t.Errorf("%s:%d: the link leads to %s, which does not exist", p.path, link.line, file)
			} else if anchor != "" && !anchors[file][anchor] {
				t.Errorf("%s:%d: %s has no heading #%s", p.path, link.line, file, anchor)
			}
		}
	}
}

// headingsOf returns the anchors that GitHub makes for a page.
func headingsOf(p page) map[string]bool {
	anchors := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(p.text, -1) {
		anchor := regexp.MustCompile(`[^\w\s-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		anchors[strings.ReplaceAll(strings.TrimSpace(anchor), " ", "-")] = true
	}
	return anchors
}

func TestEveryGuideIsInTheIndex(t *testing.T) {
	linked := map[string]bool{}
	all := pages(t)
	for _, p := range all {
		if p.path == "README.md" || p.path == "docs/README.md" {
			for _, link := range p.links {
				target, _, _ := strings.Cut(link.text, "#")
				linked[path.Join(path.Dir(p.path), target)] = true
			}
		}
	}
	for _, p := range all {
		if path.Dir(p.path) != "bench/results" && p.path != "README.md" && !linked[p.path] {
			t.Errorf("%s: neither README.md nor docs/README.md links to it", p.path)
		}
	}
}

const maxEntryWords = 25

func TestChangelogIsShort(t *testing.T) {
	for i, line := range strings.Split(read(t, "CHANGELOG.md"), "\n") {
		entry, isEntry := strings.CutPrefix(line, "- ")
		if words := len(strings.Fields(entry)); isEntry && words > maxEntryWords {
			t.Errorf("CHANGELOG.md:%d: the entry has %d words, %d is the limit", i+1, words, maxEntryWords)
		}
		if strings.HasPrefix(line, "  ") {
			t.Errorf("CHANGELOG.md:%d: an entry is one line", i+1)
		}
	}
}

const maxColumns = 120

// TestChecklistsFitTheWidth checks that the lines of checklists have at most maxColumns columns,
// because contributors read the checklists in an editor.
func TestChecklistsFitTheWidth(t *testing.T) {
	checklists := 0
	for _, p := range pages(t) {
		if path.Dir(p.path) != "docs/checklists" {
			continue
		}
		checklists++
		for i, line := range strings.Split(p.text, "\n") {
			if columns := utf8.RuneCountInString(line); columns > maxColumns {
				t.Errorf("%s:%d: the line has %d columns, %d is the limit", p.path, i+1, columns, maxColumns)
			}
		}
	}
	if checklists < 6 {
		t.Errorf("only %d checklists", checklists)
	}
}

// TestArchitectureHasTheTable compares the import table and the tree of ARCHITECTURE.md with the
// code.
func TestArchitectureHasTheTable(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	match := regexp.MustCompile("(?s)\n## Who may import whom\n.*?```text\n(.*?)```").FindStringSubmatchIndex(text)
	if match == nil {
		t.Fatal("ARCHITECTURE.md has no import table")
	}
	if want, got := importTable(), text[match[2]:match[3]]; *update {
		text = text[:match[2]] + want + text[match[3]:]
		if err := os.WriteFile("../ARCHITECTURE.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the import table of ARCHITECTURE.md is not mayImport; run make generate: (-want +got)\n%s", diff)
	}
	for _, p := range modulePackages(t) {
		line := regexp.MustCompile(`(?m)^ *(.* )?` + path.Base(p.path) + `/`)
		if p.path != "." && !forTests(p.path) && !line.MatchString(text) && !strings.Contains(text, p.path) {
			t.Errorf("ARCHITECTURE.md: the tree has no line for %s", p.path)
		}
	}
}

// forTests reports whether a package is below a package whose name ends in test.
func forTests(packagePath string) bool { return strings.Contains(path.Dir(packagePath)+"/", "test/") }

func importTable() string {
	var lines []string
	for name, allowed := range mayImport {
		if forTests(name) || strings.HasSuffix(name, "test") && len(allowed) == 0 {
			continue
		}
		var short []string
		for _, imported := range allowed {
			short = append(short, shortName(imported))
		}
		slices.Sort(short)
		if len(short) == 0 {
			short = []string{"nothing"}
		}
		lines = append(lines, fmt.Sprintf("%-18s  %s\n", shortName(name), strings.Join(short, " ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func shortName(packagePath string) string {
	switch packagePath {
	case ".":
		return module
	case "*":
		return "anything"
	}
	if packagePath == "cmd/*" {
		return "cmd"
	}
	return strings.TrimPrefix(packagePath, "internal/")
}

func TestContributingHasTheLimits(t *testing.T) {
	text := read(t, "CONTRIBUTING.md")
	lint := read(t, ".golangci.yml")
	limits := []string{fmt.Sprintf("%d lines", maxFunctionLines), fmt.Sprintf("%d,%03d lines", maxPackageLines/1000, maxPackageLines%1000)}
	for form, sentence := range map[string]string{
		`(?m)funlen:\n\s+lines: (\d+)`:                           "%s lines of code",
		`(?m)funlen:\n\s+lines: \d+\n\s+statements: (\d+)`:       "%s statements",
		`(?m)max-complexity: (\d+)`:                              "complexity of %s",
		`(?m)name: max-control-nesting\n\s+arguments: \[(\d+)\]`: "nesting of %s",
	} {
		match := regexp.MustCompile(form).FindStringSubmatch(lint)
		if match == nil {
			t.Fatalf(".golangci.yml has nothing like %s", form)
		}
		limits = append(limits, fmt.Sprintf(sentence, match[1]))
	}
	for _, limit := range limits {
		if !strings.Contains(text, limit) {
			t.Errorf("CONTRIBUTING.md does not name the limit %q", limit)
		}
	}
}
