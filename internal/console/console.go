// Package console has the pages on which operators sign in, watch a domain, search for payments and
// act on them.
//
// The package owns its pages, the sign-in on them, and the rules about which role sees which page
// and button. It does not decide about payments: package initiation does, as for the API. It does
// not decide who may sign in: package operators does. Package page finds the page for a request and
// shows failures. Package overview has the first page of a domain. Package webhooks has the pages
// about webhooks. Package sandbox has the pages that only sandboxes have.
//
// A failure shows a page in plain words, as in package page.
package console

import (
	"embed"
	"net/http"
	"slices"

	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/blob"
	"passerelle/internal/console/overview"
	"passerelle/internal/console/page"
	"passerelle/internal/console/sandbox"
	"passerelle/internal/console/webhooks"
	"passerelle/internal/delivery"
	"passerelle/internal/initiation"
	"passerelle/internal/oidc"
	"passerelle/internal/programs"
	"passerelle/internal/simulation"
	"passerelle/internal/wire"
)

//go:embed all:pages
var embedded embed.FS

var pages = page.MustPages(embedded)

// Config has the functions and values that New needs from the service. Every field except Provider
// and Design is required.
type Config struct {
	page.Config
	// Address returns the IP address of a request's sender.
	Address     func(*http.Request) string
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Delivery    *delivery.Delivery
	Access      *access.Access
	// Files stores the bytes of the files that users have.
	Files      blob.Store
	Simulation *simulation.Simulation
	Programs   *programs.Programs
	// Scenarios and Logins describe the possible behaviour of the simulated banks.
	Scenarios []wire.Scenario
	Logins    []wire.Login
	// Provider identifies operators. It is nil without an identity provider.
	Provider *oidc.Provider
	// Design adds a page with all components, for people who change the design.
	Design bool
}

// Console serves the pages of this package.
type Console struct{ Config }

// New returns the handler of all addresses below page.Root.
func New(config Config) http.Handler {
	return page.New(config.Config, (&Console{config}).routes())
}

// routes returns the addresses of all pages, with their handlers.
func (c *Console) routes() []page.Route {
	config := c.Config
	routes := slices.Concat(
		webhooks.Routes(webhooks.Config{DB: config.DB, Delivery: config.Delivery, Wake: config.Initiation.Wake, Now: config.Now}),
		sandbox.Routes(sandbox.Config{DB: config.DB, Simulation: config.Simulation, Scenarios: config.Scenarios, Logins: config.Logins}),
		overview.Routes(overview.Config{DB: config.DB, Aggregation: config.Aggregation, Now: config.Now}),
	)
	if config.Design {
		routes = append(routes, page.Get("design", c.design))
	}
	return slices.Concat(
		c.signInRoutes(), c.accountRoutes(), c.domainRoutes(), c.paymentRoutes(), c.userRoutes(), c.connectionRoutes(),
		c.connectorRoutes(), c.programRoutes(), c.configurationRoutes(), c.clientRoutes(), c.tokenRoutes(), c.auditRoutes(), c.searchRoutes(), routes,
	)
}
