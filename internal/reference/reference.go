// Package reference has the pages of the documentation: the guides, a chapter of the API for each
// kind of resource, and a page for each object. The first page of a deployment links to these
// pages.
//
// The package owns the presentation of the guides and of the OpenAPI document. It decides which
// calls belong together and which paths are the same call. It also owns the words for allowed
// values, the explanations of error codes, and the form of a request in each programming language.
// All other facts about the API come from the document, which the code generates, and from the
// samples, which a test records.
//
// The package panics for a document that it cannot read, which is a bug. An unknown address shows
// an error page.
package reference

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzhttp"

	"passerelle"
	"passerelle/internal/web"
)

// Root is the path of the pages. All paths below it belong to these pages.
const Root = "/docs"

//go:embed all:pages
var embedded embed.FS

//go:embed all:welcome
var embeddedWelcome embed.FS

var (
	pages        = mustPages(embedded, "pages")
	welcomePages = mustPages(embeddedWelcome, "welcome")
)

func mustPages(files fs.FS, folder string) *web.Pages {
	inner, err := fs.Sub(files, folder)
	if err != nil {
		panic(fmt.Sprintf("reference: %v", err)) // happens only for a malformed name
	}
	return web.MustPages(inner)
}

// Config has the functions and values that the package needs from the service. Every field is
// required.
type Config struct {
	// OpenAPI returns the document as the API serves it. The document is large. The package reads
	// the document only at the first request for a page, because most services have no readers.
	OpenAPI func() []byte
	// Domain finds the domain of a host. Pages for an unknown host omit the features of sandboxes.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// IDs returns the ids of the newest objects in a sandbox. The keys are the names of parameters
	// in paths. Readers can send examples with these ids unchanged.
	IDs func(context.Context, passerelle.Domain) map[string]string
	Log *slog.Logger
}

// Reference serves the pages. New makes a Reference.
type Reference struct {
	Config
	contents func() contents
}

// contents lists all pages.
type contents struct {
	introduction introduction
	chapters     map[string]Chapter
	objects      map[string]Object
	guides       map[string]guide
}

// introduction has the content of the page at Root: the conventions, and links to the guides and
// the chapters.
type introduction struct {
	Version, Document string
	Conventions       []paragraph
	Chapters          []Chapter
	Tasks             []Task
	Groups            []guideGroup
	// Sections has all guides to which Groups links, in the same order. Readers can search the
	// titles and headings of these guides.
	Sections []guide
}

// view has a page, and the links to all guides and chapters.
type view struct {
	Groups []guideGroup
	Tasks  []Task
	// Here is the address of the page.
	Here string
	Page any
}

// New returns the handler of Root and all paths below it.
func New(config Config) http.Handler {
	r := &Reference{Config: config, contents: sync.OnceValue(func() contents { return mustRead(config.OpenAPI()).contents() })}
	return gzhttp.GzipHandler(r) // pages are large, and contain no secrets that their compressed length could reveal
}

func (d document) contents() contents {
	c := contents{chapters: map[string]Chapter{}, objects: map[string]Object{}}
	guides, groups := mustReadGuides()
	c.guides = guides
	chapters := d.chapters()
	c.introduction = introduction{
		Version: d.Info.Version, Document: d.Servers[0].URL + "/openapi.json",
		Conventions: paragraphs(d.Info.Description), Chapters: chapters, Tasks: byTask(chapters), Groups: groups,
	}
	for _, group := range groups {
		for _, link := range group.Guides {
			c.introduction.Sections = append(c.introduction.Sections, guides[strings.TrimPrefix(link.Address, guidesRoot)])
		}
	}
	for _, chapter := range c.introduction.Chapters {
		c.chapters[chapter.Name] = chapter
	}
	for name := range d.Components.Schemas {
		c.objects[name] = d.object(name)
	}
	return c
}

// ServeHTTP responds with a page. All readers on the same host get the same page.
func (r *Reference) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	page := r.contents().find(strings.Trim(strings.TrimPrefix(request.URL.Path, Root), "/"), r.placeOf(request))
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		page = gone("Pages are only read", http.StatusMethodNotAllowed)
		page.Body = view{Page: page.Body}
	}
	if err := pages.Send(w, page); err != nil {
		r.Log.ErrorContext(request.Context(), "a page of the reference could not be rendered", "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
	}
}

func (c contents) find(address string, at place) web.Page {
	name, isObject := strings.CutPrefix(address, "objects/")
	guideName, isGuide := strings.CutPrefix(address, "guides/")
	chapter, isChapter := c.chapters[address]
	object, known := c.objects[name]
	g, written := c.guides[guideName]
	p := gone("There is no such page", http.StatusNotFound)
	switch {
	case address == "":
		p = page("introduction", "Documentation", c.introduction)
		p.Module = "filter.mjs"
	case isChapter:
		p = page("chapter", chapter.Name, at.show(chapter))
		if at.sandbox {
			p.Module, p.Asks = "reference.mjs", true
		}
	case isObject && known:
		p = page("object", object.Name, object)
	case isGuide && written:
		p = page("guide", g.Title, g)
	}
	here := strings.TrimSuffix(Root+"/"+address, "/")
	p.Body = view{Groups: c.introduction.Groups, Tasks: c.introduction.Tasks, Here: here, Page: p.Body}
	return p
}

func page(name, title string, body any) web.Page {
	return web.Page{Name: name, Words: web.Words{Lang: "en"}, Title: title + " · Passerelle", Body: body, Sheets: []string{"frame.css", "reference.css"}}
}

func gone(title string, status int) web.Page {
	p := page("gone", title, title)
	p.Status = status
	return p
}
