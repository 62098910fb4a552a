package reference

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/web"
)

// Welcome is the first page of a deployment. It is for people who open the deployment's address in
// a browser.
type Welcome struct {
	// Domain finds the domain of a host. Without a domain, the page does not name one.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// Console is set when the console is at the same address.
	Console bool
	// Rest handles all other requests, such as the requests of programs to the same address.
	Rest http.Handler
	Log  *slog.Logger
}

// welcomeView is the content of the first page.
type welcomeView struct {
	ID             passerelle.DomainID
	Name           string
	Sandbox, Known bool
	Console        bool
}

// ServeHTTP responds with the page when a browser requests the root. It passes all other requests
// to Rest.
func (h Welcome) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		h.Rest.ServeHTTP(w, r)
		return
	}
	d, err := h.Domain(r.Context(), r.Host)
	view := welcomeView{ID: d.ID, Name: d.Name, Sandbox: d.Kind == passerelle.Sandbox, Known: err == nil, Console: h.Console}
	page := web.Page{
		Name: "welcome", Words: web.Words{Lang: "en"}, Title: "Passerelle", Body: view, Sheets: []string{"welcome.css"}, Simulated: view.Known && view.Sandbox,
	}
	w.Header().Set("Vary", "Accept")
	if err := welcomePages.Send(w, page); err != nil {
		h.Log.ErrorContext(r.Context(), "the first page could not be rendered", "error", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
	}
}
