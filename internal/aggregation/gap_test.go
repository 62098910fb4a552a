package aggregation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
)

// asking returns a read in which the first account has this balance. The read stores the first
// wanted day of this account. If fault is not nil, the read fails at the transactions.
func asking(balance int64, first *passerelle.Date, fault error) reading {
	amount := decimal.MustNew(balance, 2)
	return func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		b := soundBooks()
		b.accounts[0].Balance = &amount
		if fault == nil {
			return b.read(ctx, req, wantedDay{out, first})
		}
		err := out.Accounts(b.accounts)
		*first, _ = out.Wanted("a")
		return connector.Outcome{}, errors.Join(err, fault)
	}
}

// wantedDay stores the first wanted day of the account a.
type wantedDay struct {
	connector.Sink
	first *passerelle.Date
}

func (w wantedDay) Wanted(account string) (passerelle.Date, bool) {
	day, wanted := w.Sink.Wanted(account)
	if account == "a" {
		*w.first = day
	}
	return day, wanted
}

// TestReadsLeaveNoGap checks that a read includes all days since the last complete read of an
// account, however long ago it was. A read that fails at the transactions is not complete. A read
// in which the institution does not list the account is not complete either.
func TestReadsLeaveNoGap(t *testing.T) {
	const month = 30 * 24 * time.Hour
	unlisted := func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
		return connector.Outcome{}, out.Accounts(soundBooks().accounts[1:])
	}
	var first passerelle.Date
	for name, between := range map[string][]reading{
		"a new balance":                  nil,
		"reads that fail":                {asking(1, &first, errors.New("no list")), asking(2, &first, errors.New("no list"))},
		"an account that was not listed": {unlisted},
		"both":                           {unlisted, asking(1, &first, errors.New("no list"))},
	} {
		t.Run(name, func(t *testing.T) {
			amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
				id := h.shared(s)
				want := passerelle.DateOf(h.now, time.UTC).AddDays(-30)
				s.read = asking(0, &first, nil)
				_, err := h.resume(id)
				must(t, err)
				read := h.lastUpdate("a")
				for _, s.read = range between {
					h.now = h.now.Add(2 * month)
					_, err := h.resume(id)
					must(t, err)
					if got := h.lastUpdate("a"); !got.Equal(read) {
						t.Errorf("last update %s, want the complete read at %s", got, read)
					}
				}
				h.now = h.now.Add(2 * month)
				s.read = asking(77, &first, nil)
				_, err = h.resume(id)
				must(t, err)
				if first != want {
					t.Errorf("the connector is asked from %s on, want %s", first, want)
				}
				if got := h.lastUpdate("a"); !got.Equal(h.now) {
					t.Errorf("last update %s, want %s", got, h.now)
				}
			})
		})
	}
}

func (h *fixture) lastUpdate(key string) time.Time {
	h.t.Helper()
	for _, a := range h.accounts(true) {
		if a.Key == key && a.LastUpdate != nil {
			return *a.LastUpdate
		}
	}
	h.t.Fatalf("no account %s was read", key)
	return time.Time{}
}
