package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// bannedWords maps each word that a name must not contain to the usual terms. The words are
// metaphors, or have a meaning that only this project knows.
var bannedWords = map[string]string{
	"admission":    "operators, sign-in",
	"calm":         "healthy, or what is limited",
	"calmly":       "what is limited",
	"conversation": "session, exchange",
	"cabinet":      "fixture",
	"courier":      "source, reader",
	"crew":         "fixture",
	"crime":        "fault",
	"deaf":         "ignores its deadline, is unreachable",
	"death":        "crash",
	"deaths":       "crash",
	"desk":         "page, handler, fixture",
	"door":         "limiter, fixture",
	"doors":        "links",
	"doubt":        "check, request",
	"doubts":       "check, request",
	"errand":       "job, fetch",
	"errands":      "jobs, fetches",
	"fate":         "plan",
	"fates":        "plans",
	"filing":       "documents",
	"gate":         "limiter",
	"given":        "the value, supplied, granted, set",
	"hear":         "receive, apply",
	"heard":        "received, wanted, reported",
	"hears":        "receives",
	"home":         "fixture, overview, parent, base URL",
	"hookdesk":     "webhooks",
	"knocking":     "sign-in attempt",
	"lab":          "simulation",
	"letter":       "message, payload",
	"linger":       "keep the lease",
	"lingering":    "kept leases",
	"listened":     "subscribed",
	"look":         "inspect, look up, appearance",
	"looks":        "inspections",
	"mood":         "variant, behaviour",
	"moods":        "variants, behaviours",
	"news":         "new deliveries, changes, report",
	"office":       "fixture, page",
	"pace":         "concurrency, interval",
	"parcel":       "queued delivery, request in flight",
	"parcels":      "queued deliveries",
	"patience":     "timeout, limit",
	"patient":      "slow",
	"rig":          "fixture",
	"round":        "attempt, batch",
	"rounds":       "attempts, batches",
	"secrecy":      "encryption, keys",
	"shelf":        "synced rows",
	"stage":        "step, screen, fixture",
	"stages":       "steps, screens",
	"stated":       "statements",
	"tenancy":      "domains",
	"tenant":       "domain",
	"tenants":      "domains",
	"told":         "reported, delivered, shown",
	"trail":        "timeline, history",
	"trails":       "timelines",
	"trial":        "test",
	"trials":       "tests",
	"unheard":      "unwanted",
	"verdict":      "check, result",
	"verdicts":     "checks, results",
	"visit":        "sync, read, request",
	"visited":      "synced, read",
	"visits":       "syncs, requests",
	"wealth":       "assets",
	"weather":      "faults",
	"world":        "fixture, environment",
}

// allowedNames lists names that contain a banned word in its usual meaning.
var allowedNames = map[string]string{
	"RoundTrip":      "the method of http.RoundTripper",
	"TestRoundTrips": "network round trips",
	"roundTrip":      "a network round trip",
	"homeLoan":       "a kind of loan",
	"engineWorld":    "an isolated world of JavaScript",
	"world":          "an isolated world of JavaScript",
}

type declared struct{ name, place string }

func TestNamesUseTheWordsOfTheField(t *testing.T) {
	for _, d := range declaredNames(t) {
		if _, allowed := allowedNames[d.name]; allowed {
			continue
		}
		for _, word := range wordsOf(d.name) {
			if instead, banned := bannedWords[word]; banned {
				t.Errorf("%s: %s has the word %q; the usual word may be: %s", d.place, d.name, word, instead)
			}
		}
	}
}

func TestNamesChecksFindBannedWords(t *testing.T) {
	for name, want := range map[string][]string{
		"heardAt": {"heard", "at"}, "HTTPErrand": {"http", "errand"}, "newURLFor2Stages": {"new", "url", "for2", "stages"}, "kill_test": {"kill", "test"}, "x": {"x"},
	} {
		if got := wordsOf(name); !slices.Equal(got, want) {
			t.Errorf("the words of %s are %q, want %q", name, got, want)
		}
	}
	names := map[string]bool{}
	for _, d := range namesOf(token.NewFileSet(), mustParse(t, `package p
		type visit struct{ verdict int; nested []struct{ news int } }
		const shelf = 1
		func (v visit) linger(told func(heard int)) (doubt error) {
			parcel, _ := 1, 2
			var errand int
			for given := range 3 { _, _, _ = parcel, errand, given }
			switch trial := any(v).(type) { case int: _ = trial }
			func(door int) { type lab int }(1)
			return nil
		}`)) {
		names[d.name] = true
	}
	for _, want := range []string{"visit", "verdict", "nested", "news", "shelf", "v", "linger", "told", "heard", "doubt", "parcel", "errand", "given", "trial", "door", "lab"} {
		if !names[want] {
			t.Errorf("%s was not found among %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
}

func mustParse(t *testing.T, source string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func declaredNames(t *testing.T) []declared {
	t.Helper()
	var all []declared
	for _, name := range repositoryFiles(t) {
		base, isGo := strings.CutSuffix(path.Base(name), ".go")
		if !isGo {
			all = append(all, pageNames(t, name)...)
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, declared{base, name}, declared{file.Name.Name, name})
		for _, d := range namesOf(fset, file) {
			d.place = strings.TrimPrefix(d.place, "../")
			all = append(all, d)
		}
	}
	return all
}

var class = regexp.MustCompile(`\.([a-z][a-z0-9-]*)`)

func pageNames(t *testing.T, name string) []declared {
	t.Helper()
	base, isPage := strings.CutSuffix(path.Base(name), ".html")
	if isPage {
		return []declared{{base, name}}
	}
	if path.Ext(name) != ".css" {
		return nil
	}
	sheet, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []declared
	for _, found := range class.FindAllStringSubmatch(string(sheet), -1) {
		all = append(all, declared{found[1], name})
	}
	return all
}

func namesOf(fset *token.FileSet, file *ast.File) (all []declared) {
	add := func(names ...ast.Expr) {
		for _, name := range names {
			if id, is := name.(*ast.Ident); is {
				at := fset.Position(id.Pos())
				all = append(all, declared{id.Name, fmt.Sprintf("%s:%d", at.Filename, at.Line)})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return all
}

func wordsOf(name string) []string {
	var words []string
	runes := []rune(name)
	begin := 0
	end := func(i int) {
		if i > begin {
			words = append(words, strings.ToLower(string(runes[begin:i])))
		}
		begin = i
	}
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || r == '.':
			end(i)
			begin = i + 1
		case i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
		}
	}
	end(len(runes))
	return words
}

// ownWords lists packages whose type names may equal type names of other packages, with the reason.
var ownWords = map[string]string{
	"bench": "a program of its own", "cmd/*": "programs", "testbank": "a program of its own", "testbank/*": "packages of that program",
	"cfonb": "the words of the file format", "connector/*": "the words of one kind of bank", "internal/reference": "the words of OpenAPI documents",
	"internal/wire":        "each type is the JSON form of the type of the same name",
	"internal/servicetest": "for tests, seen from outside", "internal/servicetest/*": "for tests", "internal/store/storetest": "for tests", "internal/store/storetest/*": "for tests", "internal/bankstore/bankstoretest": "for tests", "internal/oidc/oidctest": "for tests", "internal/supervision/supervisiontest": "for tests",
}

// sharedTypeNames lists exported type names that several packages declare, with the reason.
var sharedTypeNames = map[string]string{
	"Config":     "what a package needs to start",
	"Options":    "what may be chosen when something is opened",
	"Service":    "the type that a package is about",
	"Route":      "an address and its handler, of the API or of the console",
	"Delivery":   "the use cases of package delivery, and the row in the store",
	"Reader":     "what reads committed rows, of store, bankstore or operatorstore",
	"Tx":         "what collects the statements of a unit, of store, bankstore or operatorstore",
	"Field":      "a form field, of a connection or of a payment",
	"FieldValue": "a choice of such a field",
}

// TestATypeNameHasOneMeaning checks that packages do not export one type name for different things.
func TestATypeNameHasOneMeaning(t *testing.T) {
	places := map[string][]string{}
	for _, p := range modulePackages(t) {
		if matches(p.path, slices.Collect(maps.Keys(ownWords))...) {
			continue
		}
		for _, file := range p.files {
			for _, name := range exportedTypes(file) {
				places[name] = append(places[name], p.path)
			}
		}
	}
	for name, in := range places {
		if _, excepted := sharedTypeNames[name]; !excepted && len(in) > 1 {
			t.Errorf("%s is a type of %s: give one of them another name", name, strings.Join(slices.Sorted(slices.Values(in)), " and "))
		}
	}
	for name := range sharedTypeNames {
		if len(places[name]) < 2 {
			t.Errorf("%s is an exception, and one package has it", name)
		}
	}
}

// exportedTypes omits aliases, which mean the aliased type.
func exportedTypes(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		general, is := d.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, s := range general.Specs {
			if spec, is := s.(*ast.TypeSpec); is && spec.Name.IsExported() && !spec.Assign.IsValid() {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

// TestNamedResultsServeADefer checks that a function names its results only when a deferred
// function reads or sets one of them. Other named results invite bare returns and shadowing.
func TestNamedResultsServeADefer(t *testing.T) {
	for _, p := range modulePackages(t) {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if results, body := function(n); body != nil && !deferUses(body, results) {
					t.Errorf("%s: no deferred function uses the named results", p.fset.Position(n.Pos()))
				}
				return true
			})
		}
	}
}

func function(n ast.Node) (map[string]bool, *ast.BlockStmt) {
	var of *ast.FuncType
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.FuncDecl:
		of, body = n.Type, n.Body
	case *ast.FuncLit:
		of, body = n.Type, n.Body
	}
	if of == nil || of.Results == nil {
		return nil, nil
	}
	names := map[string]bool{}
	for _, field := range of.Results.List {
		for _, name := range field.Names {
			names[name.Name] = true
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return names, body
}

func deferUses(body *ast.BlockStmt, names map[string]bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if deferred, is := n.(*ast.DeferStmt); is {
			ast.Inspect(deferred, func(n ast.Node) bool {
				id, is := n.(*ast.Ident)
				found = found || is && names[id.Name]
				return true
			})
		}
		return true
	})
	return found
}
