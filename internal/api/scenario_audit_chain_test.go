package api_test

import (
	"errors"
	"testing"
	"time"

	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// awaitAuditChain returns when the service has given every act its place in the audit log. After
// that, requests that are refused change no row.
func (s *fixture) awaitAuditChain(t testing.TB) {
	t.Helper()
	for {
		_, err := operatorstore.From(&s.DB.Reader).NextUnchained(t.Context(), -1)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		must(t, err)
		<-time.After(10 * time.Millisecond)
	}
}
