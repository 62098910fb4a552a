// Package sandbox is the pages of the operators' console that only sandboxes have: the clock,
// the scenarios that simulated banks play, and the requests that the built-in receiver got.
//
// It owns those pages and which role may do what on them. It moves no clock and makes no
// payment itself: package simulation does, by the same use cases as for the JSON interface,
// and puts the acts of operators on record there.
//
// It fails as package page does. In a live domain none of its pages exists.
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

// Config wires the package to the rest of the service. Every field is required.
type Config struct {
	DB         *store.DB
	Simulation *simulation.Simulation
	// Scenarios and Logins are what the simulated banks can be made to do.
	Scenarios []wire.Scenario
	Logins    []wire.Login
}

// handler has the pages.
type handler struct{ Config }

// Routes are the addresses of the pages, and who answers there.
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
