package console

import (
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
)

// Routes returns the addresses of all pages.
func Routes() []page.Route {
	return (&Console{Config{Initiation: &initiation.Initiation{}, Design: true}}).routes()
}
