// Package console is the operators' side: the pages on which they sign in, see how
// a domain is doing, find payments and do with them what may be done.
//
// It owns its pages, how an operator gets in by them, and which role sees which
// page and button. It has no power of its own: it decides nothing about
// payments (package initiation does, as for the JSON interface) nor about who may
// come in (package operators). How requests find their pages and failures are told
// is package page's; the pages about webhooks are package webhooks's.
//
// It fails as package page does: towards people, in plain words.
package console

import (
	"embed"
	"net/http"
	"slices"

	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/blob"
	"passerelle/internal/console/page"
	"passerelle/internal/console/webhooks"
	"passerelle/internal/delivery"
	"passerelle/internal/initiation"
	"passerelle/internal/oidc"
	"passerelle/internal/simulation"
	"passerelle/internal/wire"
)

//go:embed all:pages
var embedded embed.FS

var pages = page.MustPages(embedded)

// Config wires the package to the rest of the service. Every field but Provider is
// required.
type Config struct {
	page.Config
	// Address gives where a request came from.
	Address     func(*http.Request) string
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Delivery    *delivery.Delivery
	Access      *access.Access
	// Files keeps the bytes of users' files.
	Files      blob.Store
	Simulation *simulation.Simulation
	// Scenarios and Logins are what the simulated banks can be made to do.
	Scenarios []wire.Scenario
	Logins    []wire.Login
	// Provider vouches for operators; nil for nobody does.
	Provider *oidc.Provider
}

// Console has the pages of this package.
type Console struct{ Config }

// New makes the handler of everything below desk.Root.
func New(config Config) http.Handler {
	c := &Console{config}
	webhooks := webhooks.Routes(webhooks.Config{DB: config.DB, Delivery: config.Delivery, Wake: config.Initiation.Wake, Now: config.Now})
	return page.New(config.Config, slices.Concat(
		c.signInRoutes(), c.accountRoutes(), c.domainRoutes(), c.paymentRoutes(), c.simulationRoutes(), c.userRoutes(), c.connectionRoutes(),
		c.connectorRoutes(), c.configurationRoutes(), c.clientRoutes(), c.tokenRoutes(), c.auditRoutes(), webhooks,
	))
}
