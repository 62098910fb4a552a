package httpd

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// checkTimeout is the time after which a check counts as failed.
const checkTimeout = 2 * time.Second

// Check tests a component that the service needs, such as its database. Probe must return when its
// context ends. Callers do not see Probe's error, so Probe logs the details for operators.
type Check struct {
	Name  string
	Probe func(context.Context) error
}

// Health returns a handler that always responds with 200. The response has the product in its
// header Server, such as "Passerelle/1.2.0".
func Health(product string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", product)
		reply(w, http.StatusOK, map[string]bool{"alive": true})
	})
}

// Ready returns a handler that runs the checks one after the other. The handler responds with 200
// when all checks succeed, and 503 otherwise. The body contains only names: {"ready": false,
// "failing": ["database"]}.
func Ready(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		failing := []string{}
		for _, check := range checks {
			if !check.holds(r.Context()) {
				failing = append(failing, check.Name)
			}
		}
		status := http.StatusOK
		if len(failing) > 0 {
			status = http.StatusServiceUnavailable
		}
		reply(w, status, map[string]any{"ready": len(failing) == 0, "failing": failing})
	})
}

func (c Check) holds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return c.Probe(ctx) == nil
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error only means that the client has left.
	_ = json.NewEncoder(w).Encode(body)
}
