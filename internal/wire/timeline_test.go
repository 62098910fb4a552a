package wire_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// A response shows an occurrence on its own day in the domain's time zone, whatever the time of the
// bank's report. It shows every other event at the event's own time.
func TestNotesInAZone(t *testing.T) {
	day, err := passerelle.ParseDate("day", "2026-11-20")
	if err != nil {
		t.Fatal(err)
	}
	reportedAt := time.Date(2026, 11, 23, 2, 30, 0, 0, time.UTC)
	common := func(kind, at string) map[string]any {
		return map[string]any{"kind": kind, "from": nil, "to": nil, "cause": nil, "actor": "bank", "bank_status": nil, "bank_requests": nil, "at": at, "heard_at": nil, "text": nil}
	}
	occurrence, other := common("occurrence", "2026-11-20 00:00:00"), common("cancelling", "2026-11-22 21:30:00")
	occurrence["heard_at"], occurrence["bank_status"], occurrence["text"] = "2026-11-22 21:30:00", "ACSC", "2026-11-20"
	zone := time.FixedZone("five hours behind", -5*60*60)
	for _, one := range []struct {
		note payment.Note
		want map[string]any
	}{
		{payment.Note{At: reportedAt, Kind: payment.NoteOccurrence, Actor: payment.ByBank, Bank: "ACSC", Text: "2026-11-20", Day: day}, occurrence},
		{payment.Note{At: reportedAt, Kind: payment.NoteCancelling, Actor: payment.ByBank}, other},
	} {
		if diff := cmp.Diff(one.want, members(t, wire.NewNote(one.note, zone))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
