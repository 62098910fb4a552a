package console

import (
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
)

// Routes returns the addresses of all pages. It is for tests that must include every page.
func Routes() []page.Route {
	return (&Console{Config{Initiation: &initiation.Initiation{}, Design: true}}).routes()
}
