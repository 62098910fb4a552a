// Package page has what the pages of the operators' console share. It finds the page of a
// request, checks permissions, reads forms, draws the frame around a page, pages through lists
// and shows failures.
//
// It owns the addresses below Root, the cookies of operators and the frame of their pages. It
// owns only the page of a failure. Packages console and console/webhooks own the others.
// Package operators decides who may sign in. Package web decides how pages look and are sent.
//
// It fails with a page in plain words and the id of the request. A request without a session
// is redirected to the sign-in page. A form that was not made for the session changes
// nothing.
package page

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"

	"passerelle"
	"passerelle/internal/web"
)

//go:embed all:pages
var embedded embed.FS

var own = web.MustPages(folder(embedded))

func folder(files fs.FS) fs.FS {
	pages, err := fs.Sub(files, "pages")
	if err != nil {
		panic(fmt.Sprintf("console page: %v", err)) // only for a malformed name
	}
	return pages
}

// Templates are the templates of a package, with what surrounds them.
type Templates struct{ pages *web.Pages }

// MustPages parses the templates in the folder pages, as web.MustPages does. The
// blocks of the frame are at their hand.
func MustPages(files fs.FS) *Templates {
	return &Templates{web.MustPages(folder(embedded), folder(files))}
}

// frame surrounds every page, and Data is its content.
type frame struct {
	Operator, Role, Form string
	Domain               *passerelle.Domain
	// Problem is what is wrong with a form, Done what was done by one, Clock what a sandbox's
	// clock says where it is not the real one.
	Problem, Done, Clock string
	// Menu leads to the pages of the domain and of the deployment.
	Menu []menuGroup
	// Query is the search text.
	Query string
	Tabs  []Tab
	Data  any
}

// Tab is a link to a page beside the shown one, or to itself.
type Tab struct {
	Name, Address string
	Here          bool
}

// newFrame is the frame of a page about data.
func newFrame(pc *Context, data any) frame {
	f := frame{Operator: pc.Who.Operator.Name, Role: pc.Who.Operator.Role, Problem: pc.Problem, Tabs: pc.Tabs, Data: data}
	root := ""
	if pc.Domain.ID != 0 {
		f.Domain, f.Query, root, f.Clock = &pc.Domain, pc.Query, pc.Path(""), pc.clockText()
	}
	if pc.Who.ID != 0 {
		f.Done = pc.takeDone()
		f.Form, f.Menu = pc.Who.FormToken(), menuOf(f.Domain, root, pc.Request.URL.Path)
	}
	return f
}

// sheets are the style sheets of the console.
var sheets = []string{"frame.css", "console.css"}

// Send answers with a page, or with the part of it that the asker wants.
func (p *Templates) Send(pc *Context, name, title string, data any) error {
	page := web.Page{
		Name: name, Words: web.Words{Lang: "en"}, Title: title + " · Passerelle", Body: newFrame(pc, data), Sheets: sheets,
		Simulated: pc.Domain.Kind == passerelle.Sandbox, Refresh: pc.Reload, RefreshTo: pc.LeadTo,
	}
	if pc.Problem != "" {
		page.Status = http.StatusUnprocessableEntity
	}
	if pc.Who.ID != 0 {
		page.Module, page.Asks = "console.mjs", true
	}
	if pc.part() && pc.Problem == "" && p.pages.Has(name, liveBlock) {
		return p.pages.SendPart(pc.Writer, pc.Request, page, liveBlock)
	}
	return p.pages.Send(pc.Writer, page)
}

// liveBlock is the part of a page that changes while somebody looks at it. It has
// nothing in it to be filled in.
const liveBlock = "live"

// part reports whether the script of a page asks for the live block only.
func (pc *Context) part() bool {
	return pc.Request.Method == http.MethodGet && pc.Request.Header.Get(web.PartHeader) == liveBlock
}
