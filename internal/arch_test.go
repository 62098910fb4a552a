// Package internal_test checks rules of the module that the compiler cannot check, for example
// about imports, names and pages. The package owns no code and does not check behaviour. It fails
// with the rule and the place that breaks the rule.
package internal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "passerelle"

// mayImport maps each package to the packages of this module that its code may import. It does not
// limit the imports of tests. A key that ends in /* is for the packages below it that have no key.
// "*" in a list means any package. When the table refuses an import, question the design before you
// change the table.
var mayImport = map[string][]string{
	".":                         {},
	"payment":                   {"."},
	"webhook":                   {"."},
	"cfonb":                     {"."},
	"statementfile":             {".", "cfonb"},
	"connector":                 {".", "payment"},
	"internal/failpoint":        {},
	"internal/keys":             {"."},
	"internal/blob":             {"."},
	"internal/certificate":      {},
	"internal/picture":          {},
	"internal/database":         {".", "internal/failpoint", "internal/tracing"},
	"internal/store":            {".", "payment", "webhook", "internal/database", "internal/keys", "internal/tracing"},
	"internal/store/storetest":  {"internal/leftout"},
	"internal/leftout":          {},
	"internal/bankstore":        {".", "internal/database", "internal/keys", "internal/store"},
	"internal/operatorstore":    {".", "internal/database", "internal/keys", "internal/store"},
	"internal/settings":         {".", "connector", "internal/store"},
	"internal/backup":           {".", "internal/database", "internal/progress"},
	"internal/jwe":              {".", "internal/keys", "internal/store"},
	"internal/access":           {".", "internal/keys", "internal/store", "internal/settings"},
	"internal/operators":        {".", "internal/store", "internal/operatorstore"},
	"internal/audit":            {".", "internal/store", "internal/operatorstore"},
	"internal/oidc":             {"."},
	"internal/oidc/oidctest":    {},
	"internal/catalogue":        {"connector/sandbox", "connector/sandbox/customers", "payment"},
	"internal/domains":          {".", "internal/store"},
	"internal/programs":         {".", "connector", "connector/remote", "internal/store"},
	"internal/nearest":          {},
	"internal/httpapi":          {".", "internal/httpd", "internal/access", "internal/nearest", "internal/settings", "internal/store"},
	"internal/api":              {".", "payment", "webhook", "internal/httpapi", "internal/wire", "internal/keys", "internal/access", "internal/settings", "internal/store", "internal/bankstore", "internal/initiation", "internal/aggregation", "internal/documents", "internal/api/banking", "internal/delivery", "internal/simulation", "internal/picture", "internal/programs"},
	"internal/search":           {".", "payment", "internal/database", "internal/keys", "internal/store"},
	"internal/api/banking":      {".", "internal/httpapi", "internal/wire", "internal/access", "internal/settings", "internal/store", "internal/bankstore", "internal/initiation", "internal/aggregation", "internal/documents", "internal/archive", "internal/imports", "internal/picture", "statementfile", "internal/exports"},
	"internal/bankcall":         {".", "connector", "internal/tracing"},
	"internal/wire":             {".", "payment"},
	"internal/notification":     {".", "internal/store", "internal/bankstore"},
	"internal/initiation":       {".", "payment", "connector", "internal/background", "internal/bankcall", "webhook", "internal/keys", "internal/store", "internal/wire", "internal/settings", "internal/jwe", "internal/failpoint", "internal/notification", "internal/tracing", "internal/search"},
	"internal/statement":        {".", "cfonb"},
	"internal/documents":        {".", "connector", "internal/background", "internal/bankcall", "internal/store", "internal/bankstore", "internal/blob"},
	"internal/aggregation":      {".", "webhook", "connector", "internal/background", "internal/bankcall", "internal/store", "internal/bankstore", "internal/certificate", "internal/wire", "internal/settings", "internal/jwe", "internal/statement", "internal/failpoint", "internal/notification", "internal/presence", "internal/syncqueue", "internal/tracing"},
	"internal/imports":          {".", "connector", "connector/statements", "statementfile", "internal/store", "internal/bankstore", "internal/aggregation"},
	"internal/inbox":            {".", "internal/blob"},
	"internal/exports":          {".", "statementfile", "internal/store", "internal/bankstore"},
	"internal/uploads":          {".", "connector/statements", "internal/inbox"},
	"internal/archive":          {".", "internal/store", "internal/bankstore", "internal/blob", "internal/wire", "internal/aggregation", "internal/exports"},
	"internal/delivery":         {".", "webhook", "internal/keys", "internal/store", "internal/settings", "internal/failpoint", "internal/tracing"},
	"internal/simulation":       {".", "payment", "webhook", "connector/sandbox", "connector/sandbox/customers", "internal/store", "internal/bankstore", "internal/settings", "internal/statement", "internal/initiation", "internal/aggregation", "internal/delivery"},
	"internal/web":              {"."},
	"internal/webview/chooser":  {"internal/web"},
	"internal/webview/question": {"payment", "internal/web"},
	"internal/webview":          {".", "payment", "connector", "internal/httpd", "internal/wire", "internal/picture", "internal/webview/chooser", "internal/webview/question", "internal/web", "internal/access", "internal/settings", "internal/store", "internal/bankstore", "internal/initiation", "internal/aggregation", "internal/imports", "internal/notification", "statementfile"},
	"internal/mail":             {"."},
	"internal/console/page":     {".", "internal/httpd", "internal/web", "internal/operators", "internal/store"},
	"internal/console/webhooks": {".", "webhook", "internal/web", "internal/console/page", "internal/operators", "internal/settings", "internal/store", "internal/delivery"},
	"internal/console/overview": {".", "payment", "internal/console/page", "internal/store", "internal/bankstore", "internal/aggregation"},
	"internal/console/sandbox":  {".", "payment", "internal/wire", "internal/web", "internal/console/page", "internal/operators", "internal/store", "internal/bankstore", "internal/simulation"},
	"internal/console":          {".", "payment", "webhook", "internal/wire", "internal/web", "internal/console/page", "internal/console/overview", "internal/console/sandbox", "internal/console/webhooks", "internal/access", "internal/operators", "internal/audit", "internal/oidc", "internal/domains", "internal/settings", "internal/store", "internal/bankstore", "internal/operatorstore", "internal/initiation", "internal/aggregation", "internal/blob", "internal/archive", "internal/exports", "internal/delivery", "internal/simulation", "internal/programs", "internal/search"},
	"internal/reference":        {".", "internal/web"},
	"internal/background":       {},
	"internal/httpd":            {"internal/tracing"},
	"internal/completion":       {},
	"internal/presence":         {".", "connector"},
	"internal/progress":         {},
	"internal/output":           {},
	"internal/envfile":          {},
	"internal/secretfile":       {".", "internal/keys"},
	"internal/tracing":          {},
	"internal/tracing/otlp":     {".", "internal/secretfile", "internal/tracing"},
	"internal/supervision":      {},
	"internal/syncqueue":        {".", "internal/bankstore"},
	"connector/*":               {".", "payment", "connector"},
	"connector/connectortest":   {".", "payment", "connector", "connector/remote"},
	"connector/sandbox":         {".", "payment", "connector", "connector/sandbox/customers", "connector/sandbox/speech"},
	"connector/sandbox/*":       {".", "payment", "connector", "connector/sandbox/speech"},
	"connector/statements":      {".", "connector", "connector/identity", "statementfile"},
	"connector/identity":        {"."},
	"testbank":                  {"testbank/*"},
	"testbank/eidas":            {},
	"testbank/ledger":           {},
	"testbank/bank":             {"testbank/ledger"},
	"testbank/xs2a":             {"testbank/bank", "testbank/eidas", "testbank/ledger"},
	"testbank/oauth":            {"testbank/bank", "testbank/eidas"},
	"testbank/page":             {"testbank/bank", "testbank/ledger"},
	"testbank/control":          {"testbank/bank", "testbank/ledger"},
	"internal/service":          {"*"},
	"internal/servicetest":      {"*"},
	"bench":                     {"*"},
	"cmd/*":                     {"*"},

	"internal/servicetest/network": {},

	"internal/supervision/supervisiontest": {},

	"internal/store/storetest/lists": {"internal/store"},

	"internal/bankstore/bankstoretest": {".", "internal/bankstore", "internal/store"},

	"internal/store/storetest/migrated": {"internal/database", "internal/keys", "internal/store", "internal/store/storetest"},

	"connector/remote/conformance": {".", "payment", "connector", "connector/connectortest", "connector/remote"},

	"connector/berlingroup":           {".", "payment", "connector", "connector/berlingroup/arrival", "connector/berlingroup/codes", "connector/berlingroup/handshake", "connector/berlingroup/links", "connector/berlingroup/pemfile", "connector/berlingroup/roles", "connector/berlingroup/route", "connector/berlingroup/signing", "connector/berlingroup/tomlfile", "connector/identity", "connector/statements", "statementfile"},
	"connector/berlingroup/arrival":   {},
	"connector/berlingroup/codes":     {".", "payment"},
	"connector/berlingroup/handshake": {"connector/berlingroup/arrival", "connector/berlingroup/signing"},
	"connector/berlingroup/links":     {},
	"connector/berlingroup/pemfile":   {"connector/berlingroup/tomlfile"},
	"connector/berlingroup/roles":     {},
	"connector/berlingroup/route":     {},
	"connector/berlingroup/signing":   {},
	"connector/berlingroup/tomlfile":  {},
}

// ownImport lists imports that only one package and the packages below it may have, with the
// reason. The packages bench, testbank/ledger and storetest are exempt.
var ownImport = []struct{ prefix, owner, why string }{
	{"database/sql", "internal/database", "one package connects to databases"},
	{"github.com/jackc/", "internal/database", "one package connects to databases"},
	{"modernc.org/", "internal/database", "one package connects to databases"},
	{"zombiezen.com/", "internal/database", "one package connects to databases"},
	{"github.com/pressly/goose/", "internal/database", "one package connects to databases"},
	{"github.com/coreos/go-oidc/", "internal/oidc", "what a token has to say is checked in one place"},
	{"github.com/minio/", "internal/blob", "where bytes are kept is known in one place"},
	{"codeberg.org/go-pdf/", "internal/certificate", "how a page is written is known in one place"},
	{"github.com/schollz/progressbar/", "internal/progress", "how long work shows itself is known in one place"},
	{"go.opentelemetry.io/", "internal/tracing", "what is recorded of a request, and what is not, is known in one place"},
}

// pure lists the packages that only compute.
var pure = []string{".", "payment", "webhook", "cfonb", "statementfile", "connector"}

// impure lists the imports that pure packages must not have, with the exceptions. The root package
// tells loggers which values to omit. Package webhook reads the requests that receivers pass to it.
var impure = map[string][]string{
	"database/sql": nil,
	"log":          nil,
	"log/slog":     {"."},
	"net/http":     {"webhook"},
	"os":           nil,
	"os/exec":      nil,
}

// clockless lists the packages that get the current time as an argument, because a sandbox domain
// has its own clock.
var clockless = []string{
	".", "payment", "webhook", "cfonb", "statementfile", "connector",
	"internal/wire", "internal/statement", "internal/settings", "internal/access", "internal/operators", "internal/audit", "internal/oidc", "internal/domains", "internal/notification", "internal/initiation", "internal/presence", "internal/aggregation", "internal/documents", "internal/delivery", "internal/simulation",
}

// clocked lists the files of these packages that read the clock once, with the reason.
var clocked = map[string]string{
	"webhook/request.go":          "receivers call it, in programs of their own, which have no sandbox domain and no clock but the machine's",
	"internal/delivery/client.go": "the deadline of an HTTP exchange is real time, whatever the clock of the sandbox says",
}

// ends lists the packages that only packages with "*" in mayImport may import.
var ends = []string{"cmd/*", "internal/api", "internal/console", "internal/webview", "internal/reference"}

// vague lists names of packages and files that do not describe the content.
var vague = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "type", "types", "manager", "misc", "base", "interfaces"}

const (
	maxPackageLines  = 5500
	maxStoreLines    = 8000
	maxFunctionLines = 80
	minDocSentences  = 3
)

type pkg struct {
	Dir                       string
	Name                      string
	Imports                   []string
	GoFiles                   []string
	TestImports, XTestImports []string
	// path is relative to the module. The path of the root package is ".".
	path  string
	files map[string]*ast.File
	fset  *token.FileSet
}

// modulePackages returns every package that has code besides tests.
func modulePackages(t *testing.T) []pkg {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=Dir,ImportPath,Name,Imports,TestImports,XTestImports,GoFiles", "./...")
	list.Dir = ".."
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var listed struct {
			pkg
			ImportPath string
		}
		if err := decoder.Decode(&listed); err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		if len(listed.GoFiles) > 0 {
			listed.path = relative(listed.ImportPath)
			packages = append(packages, parse(t, listed.pkg))
		}
	}
	return packages
}

func parse(t *testing.T, p pkg) pkg {
	t.Helper()
	p.fset, p.files = token.NewFileSet(), map[string]*ast.File{}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		p.files[name] = file
	}
	return p
}

// relative converts an import path of this module to a path in the module.
func relative(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func inModule(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

func matches(packagePath string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, wild := strings.CutSuffix(pattern, "*")
		return pattern == packagePath || wild && strings.HasPrefix(packagePath, below)
	})
}

// ruleFor returns the rule for a package, or else the rule of its nearest parent that has a key
// with /*.
func ruleFor(packagePath string) (allowed []string, found bool) {
	if allowed, found = mayImport[packagePath]; found {
		return allowed, true
	}
	for parent := path.Dir(packagePath); parent != "."; parent = path.Dir(parent) {
		if allowed, found = mayImport[parent+"/*"]; found {
			return allowed, true
		}
	}
	return nil, false
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range modulePackages(t) {
		allowed, found := ruleFor(p.path)
		if !found {
			t.Errorf("%s has no rule: add a line to mayImport", p.path)
			continue
		}
		for _, imported := range p.Imports {
			if inModule(imported) && !matches(relative(imported), allowed...) {
				t.Errorf("%s imports %s, which the table does not allow", p.path, relative(imported))
			}
		}
	}
}

// TestTestBankSharesNoCode checks that the test bank and the other packages of the module do not
// import each other, even in tests. Only packages below cmd may import both.
func TestTestBankSharesNoCode(t *testing.T) {
	const bank = "testbank"
	inBank := func(path string) bool { return matches(path, bank, bank+"/*") }
	for _, p := range modulePackages(t) {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			other := relative(imported)
			if !inModule(imported) || inBank(p.path) == inBank(other) || matches(p.path, "cmd/*") {
				continue
			}
			t.Errorf("%s imports %s: the test bank shares no code with what is tested against it", p.path, other)
		}
	}
}

func TestNothingImportsTheOuterPackages(t *testing.T) {
	for name, allowed := range mayImport {
		for _, imported := range allowed {
			if imported != "*" && matches(imported, ends...) {
				t.Errorf("the table lets %s import %s", name, imported)
			}
		}
	}
}

func TestEveryRuleNamesSomething(t *testing.T) {
	packages := modulePackages(t)
	check := func(rule, pattern string) {
		named := func(p pkg) bool { return matches(p.path, pattern) }
		if !slices.ContainsFunc(packages, named) {
			t.Errorf("%s names %s, which does not exist", rule, pattern)
		}
	}
	for name, allowed := range mayImport {
		check("mayImport", name)
		for _, imported := range allowed {
			check("mayImport of "+name, imported)
		}
	}
	for _, own := range ownImport {
		check("ownImport", own.owner)
	}
	for _, name := range slices.Concat(pure, clockless) {
		check("pure or clockless", name)
	}
}

func TestSomeImportsHaveOneOwner(t *testing.T) {
	for _, p := range modulePackages(t) {
		for _, imported := range p.Imports {
			for _, own := range ownImport {
				if strings.HasPrefix(imported, own.prefix) && !matches(p.path, own.owner, own.owner+"/*", "bench", "testbank/ledger", "internal/store/storetest") {
					t.Errorf("%s imports %s, which belongs to %s: %s", p.path, imported, own.owner, own.why)
				}
			}
		}
	}
}

// sqlPackages lists the packages that may call storeInternals.
var sqlPackages = []string{"internal/database", "internal/store", "internal/bankstore", "internal/operatorstore", "internal/search"}

// storeInternals are the methods of the store for SQL and sealed columns.
var storeInternals = []string{"Unit", "Rows", "Unseal"}

func TestSQLStaysBesideTheTables(t *testing.T) {
	used := map[string]bool{}
	for _, p := range modulePackages(t) {
		for _, call := range callsOf(p, storeInternals) {
			name := call.Fun.(*ast.SelectorExpr).Sel.Name
			if matches(p.path, sqlPackages...) {
				used[name] = true
				continue
			}
			t.Errorf("%s: calls %s, which is for %v: add a method there", p.fset.Position(call.Pos()), name, sqlPackages)
		}
	}
	for _, name := range storeInternals {
		if !used[name] {
			t.Errorf("nobody calls %s", name)
		}
	}
}

func callsOf(p pkg, names []string) []*ast.CallExpr {
	var calls []*ast.CallExpr
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			if method, is := call.Fun.(*ast.SelectorExpr); is && slices.Contains(names, method.Sel.Name) {
				calls = append(calls, call)
			}
			return true
		})
	}
	return calls
}

func TestPurePackagesTouchNothing(t *testing.T) {
	for _, p := range modulePackages(t) {
		if !matches(p.path, pure...) {
			continue
		}
		for _, imported := range p.Imports {
			if excepted, refused := impure[imported]; refused && !slices.Contains(excepted, p.path) {
				t.Errorf("%s imports %s, and it is to compute only", p.path, imported)
			}
		}
	}
}

func TestTheInstantIsAnArgument(t *testing.T) {
	for _, p := range modulePackages(t) {
		if !matches(p.path, clockless...) {
			continue
		}
		for name, file := range p.files {
			uses := clockUses(file)
			if clocked[path.Join(p.path, name)] != "" {
				if len(uses) != 1 {
					t.Errorf("%s/%s is to read the clock once, and does %d times", p.path, name, len(uses))
				}
				continue
			}
			for _, use := range uses {
				t.Errorf("%s: reads the clock; take the instant as an argument", p.fset.Position(use))
			}
		}
	}
}

func clockUses(file *ast.File) []token.Pos {
	name := importName(file, "time")
	var uses []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); ok && from.Name == name {
			uses = append(uses, selector.Pos())
		}
		return true
	})
	return uses
}

func importName(file *ast.File, importPath string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	for _, p := range modulePackages(t) {
		doc := packageDoc(p)
		if sentences(doc) < minDocSentences {
			t.Errorf("%s: the package comment has %d sentences; say what it owns, what not, and how it fails", p.path, sentences(doc))
		}
		if file := packageDocFile(p); !slices.Contains([]string{"doc.go", "main.go", p.Name + ".go"}, file) && len(p.GoFiles) > 1 {
			t.Errorf("%s: the package comment is in %s; readers look in doc.go and %s.go", p.path, file, p.Name)
		}
		for about, words := range docWords {
			says := func(word string) bool { return strings.Contains(doc, word) }
			if !slices.ContainsFunc(words, says) {
				t.Errorf("%s: the package comment does not say %s", p.path, about)
			}
		}
	}
}

// docWords lists the topics of a package comment. For each topic, the comment must contain at least
// one of the words.
var docWords = map[string][]string{
	"what the package owns":    {"own", "Own"},
	"what the package leaves":  {"not ", "no ", "never "},
	"how the package can fail": {"fail", "Fail", "error", "Error", "refus"},
}

func packageDoc(p pkg) string {
	var doc strings.Builder
	for _, name := range p.GoFiles {
		doc.WriteString(p.files[name].Doc.Text())
	}
	return doc.String()
}

func packageDocFile(p pkg) string {
	for _, name := range p.GoFiles {
		if p.files[name].Doc != nil {
			return name
		}
	}
	return ""
}

func sentences(text string) int {
	ends := func(word string) bool { return strings.HasSuffix(word, ".") || strings.HasSuffix(word, ".)") }
	count := 0
	for _, word := range strings.Fields(text) {
		if ends(word) {
			count++
		}
	}
	return count
}

func TestNamesSaySomething(t *testing.T) {
	for _, p := range modulePackages(t) {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: package %s says nothing about what is inside", p.path, p.Name)
		}
		for _, file := range p.GoFiles {
			if slices.Contains(vague, strings.TrimSuffix(file, ".go")) {
				t.Errorf("%s/%s: name the file after the concept it holds", p.path, file)
			}
		}
	}
}

func TestNothingGrowsTooLarge(t *testing.T) {
	for _, p := range modulePackages(t) {
		lines := 0
		for _, file := range p.files {
			lines += p.fset.File(file.FileStart).LineCount()
			for _, problem := range longFunctions(p.fset, file) {
				t.Error(problem)
			}
		}
		limit := maxPackageLines
		if p.path == "internal/store" {
			limit = maxStoreLines
		}
		if lines > limit {
			t.Errorf("%s has %d lines, %d is the limit: split it by capability", p.path, lines, limit)
		}
	}
}

// TestRoutesAreBesideTheirEndpoints checks that a route is in the same file as its endpoint
// function.
func TestRoutesAreBesideTheirEndpoints(t *testing.T) {
	for _, p := range modulePackages(t) {
		if !matches(p.path, "internal/api", "internal/api/*") {
			continue
		}
		declared := map[string]string{}
		for name, file := range p.files {
			for _, d := range file.Decls {
				if function, is := d.(*ast.FuncDecl); is {
					declared[function.Name.Name] = name
				}
			}
		}
		for name, file := range p.files {
			for _, endpoint := range handled(file) {
				if declared[endpoint] != name {
					t.Errorf("%s: the row of %s in %s belongs in %s", p.path, endpoint, name, declared[endpoint])
				}
			}
		}
	}
}

func handled(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		made, is := call.Fun.(*ast.SelectorExpr)
		endpoint, method := call.Args[0].(*ast.SelectorExpr)
		if is && method && made.Sel.Name == "Handle" {
			names = append(names, endpoint.Sel.Name)
		}
		return true
	})
	return names
}

func longFunctions(fset *token.FileSet, file *ast.File) []string {
	var problems []string
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		start, end := fset.Position(function.Pos()), fset.Position(function.End())
		if lines := end.Line - start.Line + 1; lines > maxFunctionLines {
			problems = append(problems, fmt.Sprintf("%s: %s has %d lines, %d is the limit", start, function.Name.Name, lines, maxFunctionLines))
		}
	}
	return problems
}
