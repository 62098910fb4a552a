package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed layout/*.html
var layouts embed.FS

// Page is one response that comes from a template. The template gets the Page as its data, so it
// can use short names for texts and content.
type Page struct {
	// Name is the name of the template's file, without its extension.
	Name string
	// Status is the status of the response. Zero means 200.
	Status int
	// Words has the texts in the reader's language.
	Words Words
	Title string
	// Alert begins the title in the browser of a page that reports a mistake. Screen readers say this
	// title first. It is empty for other pages.
	Alert string
	// Body is the content that the template shows.
	Body any
	// Brand is the brand of the application for which the service shows the page.
	Brand Brand
	// Simulated is set for pages of a sandbox, where no money moves.
	Simulated bool
	// Sheets lists further style sheets. They are files of this package.
	Sheets []string
	// Module is the page's script, which is a file of this package. It is empty when the page has
	// no script.
	Module string
	// Asks allows the script to send requests to the service's own origin.
	Asks bool
	// FormTargets lists the origins, besides the service's own, to which a form on this page may
	// lead. Browsers check the form's address and the redirects after it against this list.
	FormTargets []string
	// Ancestors lists the origins with pages that may show this page in a frame. When the list is
	// empty, no page may show it in a frame.
	Ancestors []string
	// Refresh is the time after which the page reloads, or opens RefreshTo.
	Refresh   time.Duration
	RefreshTo string
	// Fallback is the time after which the page reloads, or opens FallbackTo, if Module does not
	// run.
	Fallback   time.Duration
	FallbackTo string
}

// Say returns the text that has this key, in the language of the page.
func (p Page) Say(key string, args ...any) string { return p.Words.Say(key, args...) }

// With returns the page with other content. A template calls With to pass content to a block.
func (p Page) With(body any) Page {
	p.Body = body
	return p
}

// FallbackSeconds returns Fallback in seconds, for templates.
func (p Page) FallbackSeconds() int { return int(p.Fallback.Seconds()) }

// Pages has the templates of pages.
type Pages struct {
	templates func() map[string]*template.Template
}

// MustPages returns the templates at the roots of folders. Each file defines "content" and may
// define the other blocks of the layout. A file with a name that begins with an underscore defines
// blocks for all files. Sending the first page parses the templates, because parsing would
// noticeably delay every start. A mistake in a template panics at that time.
func MustPages(folders ...fs.FS) *Pages {
	return &Pages{sync.OnceValue(func() map[string]*template.Template { return mustParse(folders) })}
}

func mustParse(folders []fs.FS) map[string]*template.Template {
	functions := template.FuncMap{"asset": Asset, "icon": Icon, "mark": Mark, "add": sum, "sub": func(a, b int64) int64 { return a - b }}
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(layouts, "layout/*.html"))
	for _, files := range folders {
		if shared, _ := fs.Glob(files, "_*.html"); len(shared) > 0 {
			template.Must(layout.ParseFS(files, shared...))
		}
	}
	pages := map[string]*template.Template{}
	for _, files := range folders {
		names, _ := fs.Glob(files, "[^_]*.html")
		for _, name := range names {
			own := template.Must(template.Must(layout.Clone()).ParseFS(files, name))
			pages[strings.TrimSuffix(path.Base(name), ".html")] = own
		}
	}
	return pages
}

// sum adds numbers. Templates use it for drawings.
func sum(all ...int64) int64 {
	total := int64(0)
	for _, n := range all {
		total += n
	}
	return total
}

// Send renders a page and sends it. It sends nothing when it returns an error.
func (s *Pages) Send(w http.ResponseWriter, p Page) error {
	page, known := s.templates()[p.Name]
	if !known {
		return fmt.Errorf("there is no page %q", p.Name)
	}
	var body bytes.Buffer
	if err := page.ExecuteTemplate(&body, "layout.html", p); err != nil {
		return fmt.Errorf("render page %s: %w", p.Name, err)
	}
	p.head(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(max(p.Status, http.StatusOK))
	// An error only means that the reader has left.
	_, _ = body.WriteTo(w)
	return nil
}

// PartHeader is the header with which a page's script only asks whether the page has changed, at the
// page's address. The value names the part of the page to respond with. A webview responds with the
// whole page, and leaves cookies unchanged.
const PartHeader = "Passerelle-Part"

// SendPart renders one block of a page and sends only this block. It responds with 304 when the
// browser already has the same content. It sends nothing when it returns an error.
func (s *Pages) SendPart(w http.ResponseWriter, r *http.Request, p Page, block string) error {
	page, known := s.templates()[p.Name]
	if !known || page.Lookup(block) == nil {
		return fmt.Errorf("page %q has no block %q", p.Name, block)
	}
	var body bytes.Buffer
	if err := page.ExecuteTemplate(&body, block, p); err != nil {
		return fmt.Errorf("render %s of page %s: %w", block, p.Name, err)
	}
	p.head(w.Header())
	sum := sha256.Sum256(body.Bytes())
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	w.WriteHeader(http.StatusOK)
	// An error only means that the reader has left.
	_, _ = body.WriteTo(w)
	return nil
}

// Has reports whether a page has a block.
func (s *Pages) Has(name, block string) bool {
	page, known := s.templates()[name]
	return known && page.Lookup(block) != nil
}

func (p Page) head(header http.Header) {
	secure(header)
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", p.Words.Lang)
	header.Set("Content-Security-Policy", p.policy())
	if len(p.Ancestors) > 0 {
		header.Del("X-Frame-Options") // X-Frame-Options cannot list origins
	}
	if p.Refresh > 0 || p.RefreshTo != "" {
		header.Set("Refresh", p.refresh())
	}
}

func (p Page) refresh() string {
	seconds := strconv.Itoa(int(p.Refresh.Seconds()))
	if p.RefreshTo == "" {
		return seconds
	}
	return seconds + "; url=" + p.RefreshTo
}
