package console

import (
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
)

// Routes are the addresses of all pages, for tests that must leave out none.
func Routes() []page.Route {
	return (&Console{Config{Initiation: &initiation.Initiation{}, Design: true}}).routes()
}
