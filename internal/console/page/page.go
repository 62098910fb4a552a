// Package page has the common parts of the operators' console. It finds the page for a request,
// checks permissions, reads forms, renders the frame around a page, shows lists page by page, and
// shows failures.
//
// The package owns the addresses below Root, the cookies of operators, and the frame of their
// pages. It does not own pages, except the error page and the page for links from other sites.
// Package console and its subpackages own all other pages. Package operators decides who may sign
// in. Package web owns the design and the sending of pages.
//
// A failure shows a page in plain words with the id of the request. A request without a session is
// redirected to the sign-in page. A form for another session changes nothing.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/web"
)

//go:embed all:pages
var embedded embed.FS

var own = web.MustPages(folder(embedded))

func folder(files fs.FS) fs.FS {
	pages, err := fs.Sub(files, "pages")
	if err != nil {
		panic(fmt.Sprintf("console page: %v", err)) // happens only for a malformed file name
	}
	return pages
}

// Templates has the templates of one package, together with the frame of the console.
type Templates struct{ pages *web.Pages }

// MustPages returns the templates in the folder pages. Like web.MustPages, it parses them when the
// first page is sent, and panics then on a mistake. The templates can use the blocks of the frame.
func MustPages(files fs.FS) *Templates {
	return &Templates{web.MustPages(folder(embedded), folder(files))}
}

// frame has the data that every page shows around its content, which is Data.
type frame struct {
	Operator, Role, Form string
	Domain               *passerelle.Domain
	// Menued is the domain of the menu: the domain of the page, or else the domain that the
	// operator viewed last.
	Menued *passerelle.Domain
	// Problem describes the mistake in a form, and wrong is the name of its field in messages. Done
	// confirms an act, and Failed says why an act had no success.
	Problem, Done, Failed, wrong string
	// Clock is the time on a sandbox's clock. It is nil when the clock shows the real time.
	Clock *clockReading
	// Menu has the links to the pages of the domain and of the deployment.
	Menu []menuGroup
	// Query is the search text, and Searched is the domain in which the search box searches: the
	// domain of the menu, or else the domain of the host.
	Query    string
	Searched passerelle.Domain
	Tabs     []Tab
	Data     any
}

// Tab is a link to the shown page or to a related page.
type Tab struct {
	Name, Address string
	Here          bool
}

// newFrame returns the frame around the content data.
func newFrame(pc *Context, data any) frame {
	f := frame{Searched: pc.host, Operator: pc.Who.Operator.Name, Role: pc.Who.Operator.Role, Problem: pc.Problem, wrong: pc.Wrong, Tabs: pc.Tabs, Data: data}
	f.Menued = pc.last
	if pc.Domain.ID != 0 {
		f.Domain, f.Menued, f.Query, f.Clock = &pc.Domain, &pc.Domain, pc.Query, pc.readClock()
	}
	root := ""
	if f.Menued != nil {
		f.Searched, root = *f.Menued, pathOf(*f.Menued)
	}
	if pc.Who.ID != 0 {
		f.Done, f.Failed = pc.takeOnce(doneCookie), pc.takeOnce(failedCookie)
		f.Form, f.Menu = pc.Who.FormToken(), menuOf(f.Menued, root, pc.Request.URL.Path)
	}
	return f
}

// Invalid returns the attributes of the field with the mistake, and an empty text for other fields.
// The arguments are the names of the field in messages.
func (f frame) Invalid(names ...string) template.HTMLAttr {
	if f.wrong == "" || !slices.Contains(names, f.wrong) {
		return ""
	}
	return ` aria-invalid="true" aria-describedby="problem"`
}

// sheets are the style sheets of the console.
var sheets = []string{"frame.css", "console.css"}

// Send sends a page. When the page's script requests only a part, Send sends only that part.
func (p *Templates) Send(pc *Context, name, title string, data any) error {
	page := web.Page{
		Name: name, Words: web.Words{Lang: "en"}, Title: title + " · Passerelle", Body: newFrame(pc, data), Sheets: sheets,
		Simulated: pc.Domain.Kind == passerelle.Sandbox, Refresh: pc.Reload, RefreshTo: pc.LeadTo,
	}
	if pc.Problem != "" {
		page.Status, page.Alert = http.StatusUnprocessableEntity, "That did not work"
	}
	if pc.Who.ID != 0 {
		page.Module, page.Asks = "console.mjs", true
	}
	if pc.Part() && pc.Problem == "" && p.pages.Has(name, liveBlock) {
		return p.pages.SendPart(pc.Writer, pc.Request, page, liveBlock)
	}
	return p.pages.Send(pc.Writer, page)
}

// liveBlock is the template block that the script updates while the page is open. The block
// contains no form fields.
const liveBlock = "live"

// Part reports whether the page's script requests only the live block.
func (pc *Context) Part() bool {
	return pc.Request.Method == http.MethodGet && pc.Request.Header.Get(web.PartHeader) == liveBlock
}
