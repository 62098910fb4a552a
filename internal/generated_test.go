package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// markForm matches the comment of a generated page or of a generated part of a page.
var markForm = regexp.MustCompile(`<!-- [^\n]*Generated from [^\n]*; make generate updates [^\n]* -->`)

// generator is a function in a test file. It writes a file if the flag -update is set.
type generator struct {
	file, name       string
	texts, fileTexts []string
}

func generators(t *testing.T) []generator {
	t.Helper()
	var all []generator
	err := filepath.WalkDir("..", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			all = append(all, generatorsIn(t, name)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func generatorsIn(t *testing.T, name string) []generator {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(source, []byte("*update")) {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []generator
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && readsFlag(f) {
			all = append(all, generator{name, f.Name.Name, literals(f), literals(file)})
		}
	}
	return all
}

func readsFlag(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if star, is := n.(*ast.StarExpr); is {
			name, isName := star.X.(*ast.Ident)
			found = found || isName && name.Name == "update"
		}
		return true
	})
	return found
}

func literals(n ast.Node) []string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			all = append(all, text)
		}
		return true
	})
	return all
}

// TestGeneratedFilesNameTheCommand checks that each function with the flag -update names "make
// generate" in a text, so that a contributor whose test fails knows the command.
func TestGeneratedFilesNameTheCommand(t *testing.T) {
	all := generators(t)
	for _, g := range all {
		if !strings.Contains(strings.Join(g.texts, "\n"), "make generate") {
			t.Errorf("%s: %s has the flag -update; its failure must say \"run make generate\"", g.file, g.name)
		}
	}
	if len(all) < 15 {
		t.Errorf("%d functions were found", len(all))
	}
}

// TestGeneratedPagesHaveAMark compares the pages that tests write with the pages that have the
// comment of a generated page.
func TestGeneratedPagesHaveAMark(t *testing.T) {
	written := map[string]bool{}
	for _, g := range generators(t) {
		for _, text := range g.fileTexts {
			if strings.HasPrefix(text, "../") && strings.HasSuffix(text, ".md") {
				written[strings.TrimPrefix(filepath.Join(filepath.Dir(g.file), text), "../")] = true
			}
		}
	}
	for _, page := range pages(t) {
		switch marked := markForm.MatchString(page.text); {
		case written[page.path] && !marked:
			t.Errorf("%s is generated: it needs a comment such as <!-- Generated from the code; make generate updates it. -->", page.path)
		case !written[page.path] && marked:
			t.Errorf("%s has the comment of a generated page, but no test with the flag -update names it", page.path)
		}
		delete(written, page.path)
	}
	for path := range written {
		t.Errorf("a test with the flag -update names %s, which is no page", path)
	}
}
