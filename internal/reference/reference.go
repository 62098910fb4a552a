// Package reference has the pages that document the API: a chapter for each kind of
// resource, and a page for each object.
//
// It owns how the OpenAPI document is presented: which calls belong together, which paths
// are the same call, and the words for allowed values. It says nothing of its own about the
// API. A mistake here is a mistake in the document, which is generated from the code.
//
// It panics on a document that it cannot read, which is a mistake in the program. An unknown
// address gets an error page.
package reference

import (
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"passerelle/internal/web"
)

// Root is where the pages are. What is below it is theirs, too.
const Root = "/docs"

//go:embed all:pages
var embedded embed.FS

var pages = func() *web.Pages {
	files, err := fs.Sub(embedded, "pages")
	if err != nil {
		panic(fmt.Sprintf("reference: %v", err)) // only for a malformed name
	}
	return web.MustPages(files)
}()

// Reference serves the pages. Make it with New.
type Reference struct {
	contents func() contents
	log      *slog.Logger
}

// contents is all there is to read.
type contents struct {
	introduction introduction
	chapters     map[string]Chapter
	objects      map[string]Object
}

// introduction is the first page: what holds for all calls, and where each is.
type introduction struct {
	Version, Document string
	Conventions       []paragraph
	Chapters          []Chapter
}

// New makes the handler of Root and everything below it from an OpenAPI document
// as the API serves it. The document is large and is read for the first reader:
// most services start without one.
func New(openAPI func() []byte, log *slog.Logger) *Reference {
	return &Reference{log: log, contents: sync.OnceValue(func() contents { return mustRead(openAPI()).contents() })}
}

func (d document) contents() contents {
	c := contents{chapters: map[string]Chapter{}, objects: map[string]Object{}}
	c.introduction = introduction{
		Version: d.Info.Version, Document: d.Servers[0].URL + "/openapi.json",
		Conventions: paragraphs(d.Info.Description), Chapters: d.chapters(),
	}
	for _, chapter := range c.introduction.Chapters {
		c.chapters[chapter.Name] = chapter
	}
	for name := range d.Components.Schemas {
		c.objects[name] = d.object(name)
	}
	return c
}

// ServeHTTP answers with a page. All are the same for everybody.
func (r *Reference) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	page := r.contents().find(strings.Trim(strings.TrimPrefix(request.URL.Path, Root), "/"))
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		page = gone("Pages are only read", http.StatusMethodNotAllowed)
	}
	if err := pages.Send(w, page); err != nil {
		r.log.ErrorContext(request.Context(), "a page of the reference could not be rendered", "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
	}
}

func (c contents) find(address string) web.Page {
	name, isObject := strings.CutPrefix(address, "objects/")
	chapter, isChapter := c.chapters[address]
	object, known := c.objects[name]
	switch {
	case address == "":
		p := page("introduction", "The API", c.introduction)
		p.Module = "filter.mjs"
		return p
	case isChapter:
		return page("chapter", chapter.Name, chapter)
	case isObject && known:
		return page("object", object.Name, object)
	}
	return gone("There is no such page", http.StatusNotFound)
}

func page(name, title string, body any) web.Page {
	return web.Page{Name: name, Words: web.Words{Lang: "en"}, Title: title + " · Passerelle", Body: body, Sheet: "reference.css"}
}

func gone(title string, status int) web.Page {
	p := page("gone", title, title)
	p.Status = status
	return p
}
