package aggregation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/cfonb"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const cfonbSettings = "text/plain; charset=us-ascii"

func (h *fixture) sent(event webhook.Event) (all []store.Delivery, bodies [][]byte) {
	h.t.Helper()
	for _, w := range h.hooks {
		if w.Event != event {
			continue
		}
		page, err := h.DB.WebhookData(h.t.Context(), store.WebhookDataFilter{Domain: h.domain.ID, Webhook: w.ID}, store.Window{Limit: 1000})
		must(h.t, err)
		for _, found := range page {
			d, err := h.DB.OneDelivery(h.t.Context(), w, found.ID)
			must(h.t, err)
			body, err := io.ReadAll(h.DB.Body(h.t.Context(), h.domain.ID, d))
			must(h.t, err)
			all, bodies = append(all, d), append(bodies, body)
		}
	}
	return all, bodies
}

func movements(t *testing.T, text []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	for s, err := range cfonb.Parse(bytes.NewReader(text)) {
		must(t, err)
		found[s.Account.Number] = len(s.Movements)
	}
	return found
}

// TestStatementsHaveWhatWasRead enables CFONB statements. The body of CONNECTION_SYNCED must be a
// statement with the booked movements, and the body of ACCOUNT_FOUND a statement without movements.
// The body of ACCOUNTS_FETCHED must stay JSON.
func TestStatementsHaveWhatWasRead(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
		_, err := h.connect("anna", "1234")
		must(t, err)
		found, bodies := h.sent(webhook.AccountFound)
		h.foundStatements(found, bodies)
		if synced, bodies := h.sent(webhook.ConnectionSynced); len(found) != 4 || len(synced) != 1 || synced[0].MediaType != cfonbSettings || synced[0].Omitted != 0 || len(bodies[0]) > 0 {
			t.Errorf("%d accounts found, synced %+v, %q", len(found), synced, bodies)
		}
		want, omitted := map[string]int{}, 0
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		if h.sync() != 1 {
			t.Error("nothing was read")
		}
		for _, a := range h.accounts(false) {
			if _, _, number, french := cfonb.Split(a.IBAN); french {
				want[number] = h.booked(a)
			} else {
				omitted++
			}
		}
		synced, bodies := h.sent(webhook.ConnectionSynced)
		last := newest(synced)
		got := movements(t, bodies[last])
		if len(want) == 0 || omitted == 0 || synced[last].MediaType != cfonbSettings || synced[last].Omitted != omitted || len(got) != len(want) {
			t.Fatalf("%s, %d omitted of %d, movements %v, want %v", synced[last].MediaType, synced[last].Omitted, omitted, got, want)
		}
		for number, n := range want {
			if got[number] != n || n == 0 {
				t.Errorf("account %s has %d movements, want %d", number, got[number], n)
			}
		}
		if fetched, _ := h.sent(webhook.AccountsFetched); fetched[0].MediaType != store.JSON {
			t.Errorf("another event is sent as %s", fetched[0].MediaType)
		}
	})
}

// foundStatements checks the delivery of each new account: a French account has a statement without
// movements, and every other account is omitted.
func (h *fixture) foundStatements(found []store.Delivery, bodies [][]byte) {
	h.t.Helper()
	for _, a := range h.accounts(true) {
		_, _, number, french := cfonb.Split(a.IBAN)
		i := slices.IndexFunc(found, func(d store.Delivery) bool { return d.Account == a.ID })
		d := found[max(i, 0)]
		if i < 0 || d.MediaType != cfonbSettings || d.User != a.User || d.SubjectID != int64(a.Connection) {
			h.t.Errorf("account %d was found: %+v", a.ID, d)
		}
		want := 0
		for s, err := range cfonb.Parse(bytes.NewReader(bodies[i])) {
			must(h.t, err)
			if want++; s.Account.Number != number || len(s.Movements) != 0 || s.Opened != s.Closed {
				h.t.Errorf("the statement of account %d is %+v", a.ID, s)
			}
		}
		if french != (want == 1) || french != (d.Omitted == 0) {
			h.t.Errorf("account %d has %d statements, and %d omitted", a.ID, want, d.Omitted)
		}
	}
}

// booked counts the transactions that are part of an account's balance.
func (h *fixture) booked(a bankstore.StoredAccount) (n int) {
	h.t.Helper()
	all, err := bankstore.From(h.DB).Transactions(h.t.Context(), bankstore.TransactionFilter{Domain: h.domain.ID, User: h.user.ID, Account: a.ID, Epoch: a.Epoch}, store.Window{Limit: 1_000_000})
	must(h.t, err)
	for _, found := range all {
		if !found.Coming {
			n++
		}
	}
	return n
}

func newest(all []store.Delivery) (at int) {
	for i := range all {
		if all[i].ID > all[at].ID {
			at = i
		}
	}
	return at
}

func TestWhatIsTooLongForAStatementIsJSON(t *testing.T) {
	defer aggregation.SetMaxStatementPayload(aggregation.SetMaxStatementPayload(100 << 10))
	onEachFixture(t, func(t *testing.T, h *fixture) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
		_, err := h.connect("anna", "1234")
		must(t, err)
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		h.sync()
		synced, bodies := h.sent(webhook.ConnectionSynced)
		last := newest(synced)
		var payload struct {
			Connection struct {
				Accounts []struct{ ID passerelle.AccountID }
			}
		}
		must(t, json.Unmarshal(bodies[last], &payload))
		if synced[last].MediaType != store.JSON || synced[last].Omitted != 0 || len(payload.Connection.Accounts) != 4 {
			t.Errorf("%s with %d accounts", synced[last].MediaType, len(payload.Connection.Accounts))
		}
	})
}

// TestMovementsComeOnce checks that a transaction is a movement in one statement only, after the
// sync that first finds it booked.
func TestMovementsComeOnce(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
		b := soundBooks()
		balance := decimal.MustNew(9000, 2)
		b.accounts[0].IBAN, b.accounts[0].Balance = "FR7630006000011234567890189", &balance
		s.read = b.read
		c, err := h.connect("anna", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		one := func(change func(all []passerelle.TransactionDetails) []passerelle.TransactionDetails) reading {
			all := b
			all.transactions = change(slices.Clone(b.transactions))
			return all.read
		}
		type transactions = []passerelle.TransactionDetails
		corrected := func(all transactions) transactions { all[0].Wording = "corrected"; return all }
		coming := func(all transactions) transactions { all[2].Coming = true; return corrected(all) }
		for i, step := range []struct {
			read reading
			want int
		}{
			{one(func(all transactions) transactions { all[1].Coming = true; return all[:2] }), 1},
			{one(corrected), 2}, // the second is booked now, the third is new
			{one(coming), 0},
			{one(corrected), 0},
			{one(func(all transactions) transactions { return all[:2] }), 0}, // the third disappears
			{b.read, 0},
		} {
			s.read = step.read
			_, err := h.resume(c.ID)
			must(t, err)
			synced, bodies := h.sent(webhook.ConnectionSynced)
			if got := movements(t, bodies[newest(synced)]); len(got) != 1 || got["12345678901"] != step.want {
				t.Errorf("step %d: movements %v, want %d", i+1, got, step.want)
			}
		}
	})
}

// TestMovementsAreOfTheInstitution checks that a transaction that a client created is no movement,
// so that the old balance of a statement stays the institution's.
func TestMovementsAreOfTheInstitution(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
		b := soundBooks()
		balance := decimal.MustNew(9000, 2)
		b.accounts[0].IBAN, b.accounts[0].Balance = "FR7630006000011234567890189", &balance
		s.read = b.read
		c, err := h.connect("anna", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		_, err = h.resume(c.ID)
		must(t, err)
		mine := booked("mine", 1)
		mine.RDate = mine.Date
		_, err = h.CreateTransactions(t.Context(), h.domain, h.accounts(false)[0], []aggregation.ManualTransaction{{Details: mine}})
		must(t, err)
		_, err = h.resume(c.ID)
		must(t, err)
		synced, bodies := h.sent(webhook.ConnectionSynced)
		if got := movements(t, bodies[newest(synced)]); len(got) != 1 || got["12345678901"] != 0 {
			t.Errorf("movements %v, want none", got)
		}
	})
}

// rich is an institution with accounts whose values do not fit the columns of a statement.
type rich struct{ connector.DataReader }

func (r rich) Profile() connector.Profile {
	p := r.DataReader.Profile()
	p.Payments = nil
	return p
}

func (r rich) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	return r.DataReader.Read(ctx, req, richer{out})
}

type richer struct{ connector.Sink }

func (r richer) Accounts(all []passerelle.AccountDetails) error {
	for i := range all {
		balance := decimal.MustNew(1_000_000_000_000_000, 0)
		all[i].Balance = &balance
	}
	return r.Sink.Accounts(all)
}

func TestWhatDoesNotFitIntoAStatementIsJSON(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		must(t, settings.Set(t.Context(), h.DB, h.domain.ID, map[string]string{settings.CFONB: "1"}, h.now))
		bank, _ := h.Connectors.DataReader(sandbox.TestConnector)
		registry, err := connector.NewRegistry(rich{bank})
		must(t, err)
		h.Connectors = registry
		c, err := h.connect("anna", "1234")
		must(t, err)
		for _, a := range h.accounts(true) {
			h.share(a, true)
		}
		h.sync()
		synced, bodies := h.sent(webhook.ConnectionSynced)
		last := newest(synced)
		if c.State != "" || len(synced) != 2 || synced[last].MediaType != store.JSON || !bytes.Contains(bodies[last], []byte(`"balance":1000000000000000`)) {
			t.Errorf("%q, %d events, the last %s", c.State, len(synced), synced[last].MediaType)
		}
	})
}
