package aggregation_test

import (
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/store"
)

func (h *fixture) request(e store.Execution, background bool) aggregation.Request {
	return aggregation.Request{
		Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"}, Execution: e, Background: background,
	}
}

// TestUserDeletedWhileConnecting deletes the user after Connect has loaded this user. Connect must
// find that the user does not exist, and create nothing.
func TestUserDeletedWhileConnecting(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		for _, background := range []bool{false, true} {
			u, err := h.CreateUser(t.Context(), h.domain, true, func(*store.Tx, passerelle.User) error { return nil })
			must(t, err)
			h.events()
			h.Now = func() time.Time { // Connect asks for the time after it has loaded the user
				h.Now = func() time.Time { return h.now }
				must(t, h.DeleteUser(t.Context(), h.domain, u.ID))
				return h.now
			}
			_, err = h.Connect(t.Context(), h.domain, u.ID, h.request(store.Execution{}, background))
			if got := names(h.events()); !errors.Is(err, passerelle.NotFound) || got != "USER_DELETED" || len(h.waiting) != 0 {
				t.Errorf("%v, events %s, %d reads", err, got, len(h.waiting))
			}
		}
	})
}
