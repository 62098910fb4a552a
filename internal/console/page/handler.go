package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// Root is the root path of the console.
const Root = "/console/"

// Config has the functions and values that the package needs from the service. Every field is
// required.
type Config struct {
	// Domain returns the domain of a host. It fails with NotFound for an unknown host. The console
	// is the same on every host.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// Location returns the time zone in which pages show the times of a domain.
	Location func(context.Context, passerelle.Domain) (*time.Location, error)
	// RequestID returns the id of a request.
	RequestID func(ctx context.Context) string
	Operators *operators.Operators
	DB        *store.DB
	// MAC derives the key of the cookies from a secret of the deployment. New panics when the key
	// has fewer than 32 bytes.
	MAC func(purpose string, data []byte) []byte
	// Now returns the real time.
	Now func() time.Time
	Log *slog.Logger
}

// Handler serves the requests below Root. New makes a Handler.
type Handler struct {
	Config
	sealer *web.Sealer
	routes []Route
}

// New returns the handler of all addresses below Root.
func New(config Config, routes []Route) *Handler {
	return &Handler{Config: config, sealer: web.NewSealer([32]byte(config.MAC("cookies of the console", nil))), routes: routes}
}

// ServeHTTP handles one request.
func (h *Handler) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	pc := &Context{Context: request.Context(), Writer: writer, Request: request, handler: h}
	if err := h.serve(pc); err != nil { //nolint:contextcheck // pc contains the request, which contains the context
		h.fail(pc, err) //nolint:contextcheck // as above
	}
}

func (h *Handler) serve(pc *Context) error {
	here, err := h.Domain(pc, pc.Request.Host)
	if err != nil {
		return fmt.Errorf("find the domain of a page: %w", err)
	}
	pc.host = here
	pc.secure = strings.HasPrefix(here.BaseURL, "https:")
	route, numbers, err := find(h.routes, pc.Request)
	if err != nil {
		return err
	}
	pc.Numbers = numbers
	if route.Method == http.MethodPost {
		if err := pc.takeForm(maxForm + route.Room); err != nil {
			return err
		}
	}
	if !route.Open {
		if err := h.admit(pc); err != nil {
			return h.turnAway(pc, err)
		}
	}
	return route.Serve(pc)
}
