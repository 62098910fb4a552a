package aggregation_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// TestDifferentRowsWithTheSameKey checks that the log mentions once that rows of a read were left
// out, without their content. A row that is reported twice, unchanged, is no fault.
func TestDifferentRowsWithTheSameKey(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		var log bytes.Buffer
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		id := h.shared(s)
		b := soundBooks()
		b.transactions = append(b.transactions, b.transactions...)
		s.read = b.read
		if state, err := h.resume(id); err != nil || state != "" || strings.Contains(log.String(), "the same key") {
			t.Errorf("each transaction twice: %q (%v), and the log is %s", state, err, &log)
		}
		other := booked("1", 1)
		other.Wording = "Zyzzyva"
		b.transactions = slices.Concat(b.transactions, append(b.transactions[:0:0], other, other))
		s.read = b.read
		state, err := h.resume(id)
		if err != nil || state != "" || h.transactions() != 3 {
			t.Errorf("%q (%v), %d transactions", state, err, h.transactions())
		}
		said := log.String()
		if strings.Count(said, "the same key") != 1 || !strings.Contains(said, "rows=2") || strings.Contains(said, "Zyzzyva") {
			t.Errorf("the log is %s", said)
		}
	})
}
