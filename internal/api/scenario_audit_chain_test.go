package api_test

import (
	"testing"
	"time"
)

// awaitAuditChain returns when every act in the audit log has a number, and no worker holds the
// lease in audit_turn. After that, the worker changes no row, so a test can check that refused
// requests change none.
func (s *fixture) awaitAuditChain(t testing.TB) {
	t.Helper()
	work := map[string]string{
		"waiting acts": `SELECT id FROM audit WHERE number IS NULL`,
		"worker":       `SELECT holder FROM audit_turn WHERE holder <> ''`,
	}
	for {
		left := s.eyes.Lines(work)
		if len(left["waiting acts"])+len(left["worker"]) == 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the audit log is not in order: %v", left)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
