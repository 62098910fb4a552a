package webhooks

import (
	"embed"
	"net/http"
	"time"

	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
)

//go:embed all:pages
var embedded embed.FS

var pages = page.MustPages(embedded)

// Config has the functions and values that the package needs from the service. Every field is
// required.
type Config struct {
	DB       *store.DB
	Delivery *delivery.Delivery
	// Wake makes the sender send due deliveries.
	Wake func()
	// Now returns the real time.
	Now func() time.Time
}

// hooks serves the pages.
type hooks struct{ Config }

// roomy is the size of a form with the payload of a webhook, in bytes. A form may use three bytes
// to encode one byte.
const roomy = 3 * delivery.MaxTestBody

// Routes returns the addresses of the pages, with their handlers.
func Routes(config Config) []page.Route {
	h := &hooks{config}
	return append(h.providerRoutes(), []page.Route{
		page.Get("domains/#/webhooks", h.webhooks),
		page.Get("domains/#/webhooks/new", h.newWebhook),
		page.Post("domains/#/webhooks/new", h.registerWebhook),
		page.Get("domains/#/webhooks/events/#", h.event),
		page.Get("domains/#/webhooks/verify", h.verifyForm),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/verify", Serve: h.verify, Room: roomy},
		page.Get("domains/#/webhooks/#", h.webhook),
		page.Post("domains/#/webhooks/#", h.actOnWebhook),
		page.Get("domains/#/webhooks/#/edit", h.editWebhook),
		page.Post("domains/#/webhooks/#/edit", h.changeWebhook),
		page.Get("domains/#/webhooks/#/test", h.testForm),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/#/test", Serve: h.test, Room: roomy},
		page.Get("domains/#/webhooks/#/data/#", h.delivery),
		page.Post("domains/#/webhooks/#/data/#/resend", h.resend),
		page.Post("domains/#/webhooks/#/data/#/reveal", h.revealDelivery),
	}...)
}
