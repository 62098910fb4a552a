// Package sandbox has the pages of the operators' console that only sandboxes have: the clock, the
// scenarios of the simulated banks, and the requests that the built-in receiver got.
//
// It owns these pages and the rules about which role may do what on them. It changes no clock and
// creates no payment itself. Package simulation does, with the same use cases as for the JSON API,
// and records the acts of operators.
//
// It fails like package page. In a live domain its pages do not exist.
package sandbox

import (
	"embed"

	"passerelle/internal/console/page"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

//go:embed all:pages
var embedded embed.FS

var pages = page.MustPages(embedded)

// Config has the functions and values that the package needs from the service. Every field is
// required.
type Config struct {
	DB         *store.DB
	Simulation *simulation.Simulation
	// Scenarios and Logins describe how the simulated banks can behave.
	Scenarios []wire.Scenario
	Logins    []wire.Login
}

// handler serves the pages.
type handler struct{ Config }

// Routes returns the addresses of the pages, with their handlers.
func Routes(config Config) []page.Route {
	c := &handler{config}
	return []page.Route{
		page.Get("domains/#/simulation", c.simulation),
		page.Post("domains/#/simulation/clock", c.moveClock),
		page.Post("domains/#/simulation/run", c.runSandbox),
		page.Get("domains/#/simulation/scenarios", c.scenarios),
		page.Post("domains/#/simulation/scenarios", c.playScenario),
		page.Post("domains/#/simulation/logins", c.playLogin),
		page.Get("domains/#/simulation/receiver", c.receiver),
		page.Post("domains/#/simulation/receiver/empty", c.emptyReceiver),
	}
}
