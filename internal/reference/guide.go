package reference

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"passerelle"
)

// guidesRoot is the path of the guides.
const guidesRoot = Root + "/guides/"

// quickStart is the name of the guide that comes from the README.
const quickStart = "quick-start"

// guide is a page with the content of a documentation file.
type guide struct {
	Name, Title string
	Content     template.HTML
	// Headings are the headings of the second level.
	Headings []heading
}

type heading struct{ ID, Text string }

// guideGroup has the guides for one group of readers.
type guideGroup struct {
	Name   string
	Guides []guideLink
}

type guideLink struct{ Title, Address string }

// indexed matches a line of the index, docs/README.md. The line is a heading, or a row of a table
// with the title and the file of a guide.
var indexed = regexp.MustCompile(`(?m)^## (.+)$|^\| \[([^\]]+)\]\(([a-z0-9-]+)\.md\) \|`)

// mustReadGuides returns the rendered guides, and their groups in the order of the index. The files
// are part of the program, so it panics when it cannot render a file.
func mustReadGuides() (map[string]guide, []guideGroup) {
	guides := map[string]guide{quickStart: mustRender(quickStart, "README.md")}
	files, err := fs.Glob(passerelle.Guides, "docs/*.md")
	if err != nil {
		panic(fmt.Sprintf("reference: list the guides: %v", err))
	}
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".md"); name != "README" {
			guides[name] = mustRender(name, file)
		}
	}
	groups := []guideGroup{{"Start", []guideLink{{"Quick start", guidesRoot + quickStart}}}}
	for _, found := range indexed.FindAllStringSubmatch(string(mustReadFile("docs/README.md")), -1) {
		last := &groups[len(groups)-1]
		if found[1] != "" {
			groups = append(groups, guideGroup{Name: found[1]})
			continue
		}
		if _, written := guides[found[3]]; written {
			last.Guides = append(last.Guides, guideLink{found[2], guidesRoot + found[3]})
		}
	}
	withoutGuides := func(g guideGroup) bool { return len(g.Guides) == 0 } // its pages are only in the repository
	return guides, slices.DeleteFunc(groups, withoutGuides)
}

func mustReadFile(file string) []byte {
	source, err := fs.ReadFile(passerelle.Guides, file)
	if err != nil {
		panic(fmt.Sprintf("reference: %v", err))
	}
	return source
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

func mustRender(name, file string) guide {
	source := mustReadFile(file)
	tree := markdown.Parser().Parse(text.NewReader(source))
	leavePictures(tree, source)
	g := guide{Name: name, Title: name}
	if err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			g.take(n, source)
		}
		return ast.WalkContinue, nil
	}); err != nil {
		panic(fmt.Sprintf("reference: walk through %s: %v", file, err))
	}
	unlink(tree, path.Dir(file))
	var content bytes.Buffer
	if err := markdown.Renderer().Render(&content, source, tree); err != nil {
		panic(fmt.Sprintf("reference: render %s: %v", file, err))
	}
	// The renderer omits HTML in the files and escapes texts, so the content has only our own
	// elements. The attribute lets a reader scroll wide content with the keyboard.
	g.Content = template.HTML(strings.ReplaceAll(content.String(), "<pre>", `<pre tabindex="0">`)) //nolint:gosec // as above
	return g
}

// take stores the title and the headings of a guide.
func (g *guide) take(n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Heading:
		title := plainText(n, source)
		if n.Level == 1 {
			g.Title = title
		}
		if id, known := n.AttributeString("id"); known && n.Level == 2 {
			g.Headings = append(g.Headings, heading{string(id.([]byte)), title}) //nolint:errcheck // goldmark stores the id as bytes
		}
	case *extast.Table:
		n.SetAttributeString("tabindex", []byte("0"))
	}
}

// plainText returns the text of a heading without its formatting.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, is := child.(*ast.Text); is {
			b.Write(t.Segment.Value(source))
			continue
		}
		b.WriteString(plainText(child, source))
	}
	return b.String()
}

// leavePictures removes the blocks that show pictures, because a service does not serve pictures.
// It also removes the block that announces a picture: a paragraph that ends with a colon, or a
// heading below the second level.
func leavePictures(tree ast.Node, source []byte) {
	for block := tree.FirstChild(); block != nil; {
		next := block.NextSibling()
		shown := shows(block)
		if before := block.PreviousSibling(); shown && before != nil && announces(before, source) {
			tree.RemoveChild(tree, before)
		}
		if shown {
			tree.RemoveChild(tree, block)
		}
		block = next
	}
}

// shows reports whether a block contains a picture.
func shows(n ast.Node) bool {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.Kind() == ast.KindImage || shows(child) {
			return true
		}
	}
	return false
}

func announces(n ast.Node, source []byte) bool {
	switch n := n.(type) {
	case *ast.Heading:
		return n.Level > 2
	case *ast.Paragraph:
		return strings.HasSuffix(plainText(n, source), ":")
	}
	return false
}

// unlink makes links lead to the pages of a running service. Links to other files, which a service
// does not have, become text.
func unlink(n ast.Node, folder string) {
	for child := n.FirstChild(); child != nil; {
		next := child.NextSibling()
		unlink(child, folder)
		if !leads(child, folder) {
			lift(n, child)
		}
		child = next
	}
}

// leads changes a link to the address at which the service serves the link's target. It returns
// false when the service does not serve the target. It does not change links to other sites.
func leads(n ast.Node, folder string) bool {
	link, is := n.(*ast.Link)
	if !is {
		return true
	}
	to, served := address(string(link.Destination), folder)
	link.Destination = []byte(to)
	return served
}

// lift replaces a node with its children.
func lift(parent, n ast.Node) {
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// address converts a link in a file to an address in a running service. It returns false when the
// service does not have the link's target.
func address(to, folder string) (string, bool) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") {
		return to, true
	}
	file, anchor, _ := strings.Cut(to, "#")
	file = path.Join(folder, file)
	if anchor != "" {
		anchor = "#" + anchor
	}
	switch {
	case file == "README.md":
		return guidesRoot + quickStart + anchor, true
	case file == "docs/README.md":
		return Root, true
	case path.Dir(file) == "docs" && path.Ext(file) == ".md":
		return guidesRoot + strings.TrimSuffix(path.Base(file), ".md") + anchor, true
	}
	return "", false
}
