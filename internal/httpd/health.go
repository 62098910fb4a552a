package httpd

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// checkTimeout is how long a check may take before it counts as failed.
const checkTimeout = 2 * time.Second

// Check tests a part that the service needs in order to work, such as its database. Probe must
// return when its context ends. Its error is not shown to callers, so a probe logs the details for
// operators.
type Check struct {
	Name  string
	Probe func(context.Context) error
}

// Health answers 200 as long as the process can answer. The header Server of the answer is the
// product, such as "Passerelle/1.2.0".
func Health(product string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", product)
		reply(w, http.StatusOK, map[string]bool{"alive": true})
	})
}

// Ready runs the checks one after another. It answers 200 when all succeed, and otherwise 503. The
// body has only names: {"ready": false, "failing": ["database"]}.
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
	// An error is ignored, because it only means that the client has left.
	_ = json.NewEncoder(w).Encode(body)
}
