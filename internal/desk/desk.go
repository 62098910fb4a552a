// Package desk is what the pages of the operators' console have in common: how a
// request finds its page, who may see it, how a form is taken, what surrounds a
// page, how a list is turned and how a failure is told.
//
// It owns the addresses below Root, the cookies of operators and the frame of
// their pages. It has no page of its own besides that of a fault, and decides
// nothing about what pages show or do: the packages that build on it, console and
// hookdesk, do. Who may come in is package admission's, and how pages look and are
// sent is package web's.
//
// It fails towards people, in plain words and with the number of the request. Who
// is not signed in is sent to sign in and learns nothing else; a form that the
// console did not make for this very session changes nothing.
package desk

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// Root is where the console is.
const Root = "/console/"

// Config wires the package to the rest of the service. Every field is required.
type Config struct {
	// Domain finds the tenant a host names; an unknown host is a NotFound
	// error. The console is the same on all of them.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// Location is the zone in which the times of a domain are shown.
	Location func(context.Context, passerelle.Domain) (*time.Location, error)
	// RequestID gives the identifier of a request.
	RequestID func(ctx context.Context) string
	Admission *admission.Admission
	DB        *store.DB
	// MAC derives the key of the cookies from a secret of the deployment: at
	// least 32 bytes, or New panics.
	MAC func(purpose string, data []byte) []byte
	// Now is the real clock.
	Now func() time.Time
	Log *slog.Logger
}

// Desk answers the requests below Root. Make it with New.
type Desk struct {
	Config
	sealer *web.Sealer
	routes []Route
}

// New makes the handler of everything below Root.
func New(config Config, routes []Route) *Desk {
	return &Desk{Config: config, sealer: web.NewSealer([32]byte(config.MAC("cookies of the console", nil))), routes: routes}
}

// ServeHTTP answers one request, whatever happens, and turns every error into a
// page.
func (d *Desk) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	v := &Visit{Context: request.Context(), Writer: writer, Request: request, desk: d}
	if err := d.serve(v); err != nil { //nolint:contextcheck // a visit is the context of its request
		d.fail(v, err) //nolint:contextcheck // as above
	}
}

func (d *Desk) serve(v *Visit) error {
	here, err := d.Domain(v, v.Request.Host)
	if err != nil {
		return fmt.Errorf("find the domain of a page: %w", err)
	}
	v.secure = strings.HasPrefix(here.BaseURL, "https:")
	route, numbers, err := find(d.routes, v.Request)
	if err != nil {
		return err
	}
	v.Numbers = numbers
	if route.Method == http.MethodPost {
		if err := v.takeForm(maxForm + route.Room); err != nil {
			return err
		}
	}
	if !route.Open {
		if err := d.admit(v); err != nil {
			return err
		}
	}
	return route.Serve(v)
}
