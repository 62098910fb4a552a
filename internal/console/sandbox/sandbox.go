// Package sandbox has those pages of the operators' console that only sandboxes have. They show the
// clock, the scenarios of the simulated banks, and the requests to the built-in receiver.
//
// The package owns these pages and the rules about the acts that each role may do on them. Package
// simulation changes the clock, creates the payments and records the acts of operators. For
// payments and connections, it calls the same use cases as the JSON API.
//
// The package fails like package page. Its pages do not exist in a live domain.
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
	// Scenarios and Logins describe the possible behaviour of the simulated banks.
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
