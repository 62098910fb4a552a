package berlingroup_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// nothing is an importer that knows no packages. The test ignores the errors that this causes.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// TestEveryFieldHasAnEffect checks that the code uses each field of bank files, except
// standard.kind. A use in validate.go does not count.
func TestEveryFieldHasAnEffect(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	own, _ := config.Check("berlingroup", set, files, info) // errors are about the packages that were not imported
	used := map[types.Object]bool{}
	for at, selection := range info.Selections {
		if set.Position(at.Pos()).Filename != "validate.go" {
			used[selection.Obj()] = true
		}
	}
	checked := 0
	var check func(prefix string, of types.Type)
	check = func(prefix string, of types.Type) {
		if pointer, is := of.(*types.Pointer); is {
			of = pointer.Elem()
		}
		table, is := of.Underlying().(*types.Struct)
		if !is {
			return
		}
		for i := range table.NumFields() {
			name := prefix + reflect.StructTag(table.Tag(i)).Get("toml")
			if checked++; !used[table.Field(i)] && name != "standard.kind" { // there is one kind
				t.Errorf("nothing uses the field %s of bank files", name)
			}
			check(name+".", table.Field(i).Type())
		}
	}
	check("", own.Scope().Lookup("File").Type())
	if checked < 60 {
		t.Errorf("only %d fields were checked", checked)
	}
}
