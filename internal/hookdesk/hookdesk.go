// Package hookdesk is the pages of the operators' console about webhooks: what is
// registered, how each is doing, what was sent and what came of it, and by what
// receivers know that it is ours.
//
// It owns those pages and which role sees which button on them. It does not send
// or sign anything: package delivery does, by the same use cases as for the JSON
// interface, and puts the acts of operators on record there. How requests find
// the pages is package desk's.
//
// It fails as package desk does: towards people, in plain words.
package hookdesk

import (
	"embed"
	"net/http"
	"time"

	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/store"
)

//go:embed all:pages
var embedded embed.FS

var pages = desk.MustPages(embedded)

// Config wires the package to the rest of the service. Every field is required.
type Config struct {
	DB       *store.DB
	Delivery *delivery.Delivery
	// Wake has what is due sent at once.
	Wake func()
	// Now is the real clock.
	Now func() time.Time
}

// hooks has the pages.
type hooks struct{ Config }

// roomy is what a form takes that carries what webhooks do, of which three bytes
// may stand for one.
const roomy = 3 * delivery.MaxTestBody

// Routes are the addresses of the pages, and who answers there.
func Routes(config Config) []desk.Route {
	h := &hooks{config}
	return append(h.providerRoutes(), []desk.Route{
		desk.Get("domains/#/webhooks", h.webhooks),
		desk.Get("domains/#/webhooks/new", h.newWebhook),
		desk.Post("domains/#/webhooks/new", h.registerWebhook),
		desk.Get("domains/#/webhooks/verify", h.askToVerify),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/verify", Serve: h.verify, Room: roomy},
		desk.Get("domains/#/webhooks/#", h.webhook),
		desk.Post("domains/#/webhooks/#", h.actOnWebhook),
		desk.Get("domains/#/webhooks/#/edit", h.editWebhook),
		desk.Post("domains/#/webhooks/#/edit", h.changeWebhook),
		desk.Get("domains/#/webhooks/#/test", h.askToTest),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/#/test", Serve: h.test, Room: roomy},
		desk.Get("domains/#/webhooks/#/data/#", h.delivery),
		desk.Post("domains/#/webhooks/#/data/#/resend", h.resend),
		desk.Post("domains/#/webhooks/#/data/#/reveal", h.revealDelivery),
	}...)
}
