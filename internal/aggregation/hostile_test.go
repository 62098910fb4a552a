package aggregation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

type reading func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error)

// hostileConnector is a connector whose behaviour the test sets.
type hostileConnector struct {
	connector.DataReader
	read reading
}

func (s *hostileConnector) Profile() connector.Profile {
	p := s.DataReader.Profile()
	p.Payments = nil
	return p
}

func (s *hostileConnector) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	return s.read(ctx, req, out)
}

type institutionData struct {
	accounts      []passerelle.AccountDetails
	transactions  []passerelle.TransactionDetails // of the first account
	subscriptions []passerelle.SubscriptionDetails
	documents     []passerelle.DocumentDetails // of the first subscription
	outcome       connector.Outcome
}

func booked(key string, day int) passerelle.TransactionDetails {
	return passerelle.TransactionDetails{
		Key: key, Date: passerelle.DateOf(noon, time.UTC).AddDays(-day), Type: "card", Wording: "SHOP " + key, SimplifiedWording: "Shop", Value: decimal.MustNew(-1050, 2),
	}
}

// soundBooks returns valid data: two accounts, three transactions of the first account, two
// subscriptions, and a bill of the first subscription.
func soundBooks() institutionData {
	total := decimal.MustNew(3999, 2)
	return institutionData{
		accounts: []passerelle.AccountDetails{
			{Key: "a", Name: "Account", Type: "checking", Currency: "EUR"}, {Key: "b", Name: "Other", Type: "savings", Currency: "EUR"},
		},
		transactions:  []passerelle.TransactionDetails{booked("1", 1), booked("2", 2), booked("3", 3)},
		subscriptions: []passerelle.SubscriptionDetails{{Key: "s", Label: "Power"}, {Key: "u", Label: "Phone"}},
		documents:     []passerelle.DocumentDetails{{Key: "d", Type: "bill", Name: "Bill", Total: &total, Currency: "EUR"}},
	}
}

func receipts(n int) (all []passerelle.AttachmentDetails) {
	for i := range n {
		all = append(all, passerelle.AttachmentDetails{Key: fmt.Sprint(i), Name: "receipt \x00\xff", MediaType: "text/\xff"})
	}
	return all
}

func (b institutionData) read(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	if err := out.Accounts(b.accounts); err != nil {
		return connector.Outcome{}, err
	}
	if from, wanted := out.Wanted("a"); wanted {
		if err := errors.Join(out.Transactions("a", b.transactions), out.AccountRead("a", from)); err != nil {
			return connector.Outcome{}, err
		}
	}
	if err := out.Subscriptions(b.subscriptions); err != nil {
		return connector.Outcome{}, err
	}
	if out.SubscriptionWanted("s") {
		if err := errors.Join(out.Documents("s", b.documents), out.SubscriptionRead("s")); err != nil {
			return connector.Outcome{}, err
		}
	}
	return b.outcome, nil
}

// amongStrangers runs a test with a fixture whose only institution is the hostileConnector.
func amongStrangers(t *testing.T, run func(t *testing.T, h *fixture, s *hostileConnector)) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		bank, _ := h.Connectors.DataReader(sandbox.TestConnector)
		s := &hostileConnector{DataReader: bank, read: soundBooks().read}
		registry, err := connector.NewRegistry(s)
		must(t, err)
		h.Connectors = registry
		run(t, h, s)
	})
}

// shared returns a connection whose first account and first subscription are shared and read.
func (h *fixture) shared(s *hostileConnector) passerelle.ConnectionID {
	h.t.Helper()
	s.read = soundBooks().read
	c, err := h.connect("anna", "1234")
	must(h.t, err)
	for _, a := range h.accounts(true) {
		if a.Connection == c.ID && a.Key == "a" {
			h.share(a, true)
		}
	}
	h.shareSubscription(c.ID, "s")
	_, err = h.resume(c.ID)
	must(h.t, err)
	h.events()
	return c.ID
}

func (h *fixture) resume(id passerelle.ConnectionID) (state passerelle.ConnectionState, err error) {
	h.t.Helper()
	c, err := h.Resume(h.t.Context(), h.domain, h.user.ID, id, aggregation.Request{})
	return c.State, err
}

// These are the events of runs that end early, and of a complete run.
const (
	onlySynced  = "CONNECTION_SYNCED"
	someFetched = "ACCOUNTS_FETCHED CONNECTION_SYNCED"
	accountRead = "ACCOUNTS_FETCHED ACCOUNT_SYNCED ACCOUNT_CATEGORIZED ACCOUNT_OWNERSHIPS_FOUND CONNECTION_SYNCED"
	allRead     = "ACCOUNTS_FETCHED ACCOUNT_SYNCED SUBSCRIPTION_SYNCED ACCOUNT_CATEGORIZED ACCOUNT_OWNERSHIPS_FOUND CONNECTION_SYNCED"
)

// connectorFault is a fault of a connector, with the expected result of the run.
type connectorFault struct {
	institutionData func(b *institutionData)
	read            reading
	state           passerelle.ConnectionState
	events          string
}

func spoiltAccounts() map[string]connectorFault {
	account := func(spoil func(a *passerelle.AccountDetails)) func(b *institutionData) {
		return func(b *institutionData) { spoil(&b.accounts[1]) }
	}
	return map[string]connectorFault{
		"an account twice":              {institutionData: account(func(a *passerelle.AccountDetails) { a.Key = "a" }), state: "bug", events: onlySynced},
		"an account without a key":      {institutionData: account(func(a *passerelle.AccountDetails) { a.Key = "" }), state: "bug", events: onlySynced},
		"a key of half a surrogate":     {institutionData: account(func(a *passerelle.AccountDetails) { a.Key = "\xed\xa0\xbd" }), state: "bug", events: onlySynced},
		"a key with a NUL":              {institutionData: account(func(a *passerelle.AccountDetails) { a.Key = "b\x00" }), state: "bug", events: onlySynced},
		"an account in no currency":     {institutionData: account(func(a *passerelle.AccountDetails) { a.Currency = "EURO" }), state: "bug", events: onlySynced},
		"an account's name of 10 MB":    {institutionData: account(func(a *passerelle.AccountDetails) { a.Name = strings.Repeat("n", 10<<20) }), state: "bug", events: onlySynced},
		"an account of a type unheard":  {institutionData: account(func(a *passerelle.AccountDetails) { a.Type = "piggy" }), events: allRead},
		"an account that is its parent": {institutionData: account(func(a *passerelle.AccountDetails) { a.Parent = "b" }), events: allRead},
		"too many accounts": {institutionData: func(b *institutionData) {
			for i := range 1000 {
				b.accounts = append(b.accounts, passerelle.AccountDetails{Key: fmt.Sprint(i), Currency: "EUR"})
			}
		}, state: "bug", events: onlySynced},
	}
}

func spoiltTransactions() map[string]connectorFault {
	spoilt := func(spoil func(d *passerelle.TransactionDetails)) func(b *institutionData) {
		return func(b *institutionData) { spoil(&b.transactions[1]) }
	}
	late := time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)
	return map[string]connectorFault{
		"a transaction without a key":  {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Key = "" }), state: "bug", events: someFetched},
		"… with a long one":            {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Key = strings.Repeat("k", 256) }), state: "bug", events: someFetched},
		"… with half a surrogate":      {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Key = "2\xed\xb0\x80" }), state: "bug", events: someFetched},
		"… without a day":              {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Date = passerelle.Date{} }), state: "bug", events: someFetched},
		"… in a year too far":          {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.DateTime = &late }), state: "bug", events: someFetched},
		"an amount beyond all bounds":  {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Value = decimal.MustParse("-9999999999999999999") }), state: "bug", events: someFetched},
		"an amount of too many digits": {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Value = decimal.MustParse("0.00000000001") }), state: "bug", events: someFetched},
		"an original in no currency":   {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.OriginalCurrency = "€" }), state: "bug", events: someFetched},
		"a commission in no currency":  {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.CommissionCurrency = "eur" }), state: "bug", events: someFetched},
		"a label of 10 MB":             {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Wording = strings.Repeat("x", 10<<20) }), state: "bug", events: someFetched},
		"another text of 10 MB": {institutionData: spoilt(func(d *passerelle.TransactionDetails) {
			d.Counterparty = &passerelle.Counterparty{Label: strings.Repeat("x", 10<<20)}
		}), state: "bug", events: someFetched},
		"more attachments than any":   {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Attachments = receipts(21) }), state: "bug", events: someFetched},
		"an attachment without a key": {institutionData: spoilt(func(d *passerelle.TransactionDetails) { d.Attachments = make([]passerelle.AttachmentDetails, 1) }), state: "bug", events: someFetched},
		"a transaction twice":         {institutionData: func(b *institutionData) { b.transactions = append(b.transactions, b.transactions...) }, events: allRead},
	}
}

func spoiltDocuments() map[string]connectorFault {
	spoilt := func(spoil func(d *passerelle.DocumentDetails)) func(b *institutionData) {
		return func(b *institutionData) { spoil(&b.documents[0]) }
	}
	total := decimal.MustParse("9999999999999999999")
	return map[string]connectorFault{
		"a subscription twice":           {institutionData: func(b *institutionData) { b.subscriptions[1].Key = "s" }, state: "bug", events: accountRead},
		"a subscription's label of 10MB": {institutionData: func(b *institutionData) { b.subscriptions[1].Label = strings.Repeat("x", 10<<20) }, state: "bug", events: accountRead},
		"a total beyond all bounds":      {institutionData: spoilt(func(d *passerelle.DocumentDetails) { d.Total = &total }), state: "bug", events: accountRead},
		"a total in no currency":         {institutionData: spoilt(func(d *passerelle.DocumentDetails) { d.Currency = "EURO" }), state: "bug", events: accountRead},
		"a document without a key":       {institutionData: spoilt(func(d *passerelle.DocumentDetails) { d.Key = "" }), state: "bug", events: accountRead},
		"a document's name of 10 MB":     {institutionData: spoilt(func(d *passerelle.DocumentDetails) { d.Name = strings.Repeat("x", 10<<20) }), state: "bug", events: accountRead},
	}
}

func spoiltOutcomes() map[string]connectorFault {
	ends := func(o connector.Outcome) func(b *institutionData) { return func(b *institutionData) { b.outcome = o } }
	past := noon.AddDate(-1, 0, 0)
	return map[string]connectorFault{
		"a state of its own":      {institutionData: ends(connector.Outcome{State: "tired"}), state: "bug", events: allRead},
		"a state without end":     {institutionData: ends(connector.Outcome{State: passerelle.Validating}), state: "bug", events: allRead},
		"a memory of 2 MB":        {institutionData: ends(connector.Outcome{Memory: make([]byte, 2<<20)}), state: "bug", events: allRead},
		"a field of 10 MB":        {institutionData: ends(connector.Outcome{State: "wrongpass", Fields: []connector.Field{{Name: strings.Repeat("x", 10<<20)}}}), state: "bug", events: allRead},
		"a field named resume":    {institutionData: ends(connector.Outcome{State: "additionalInformationNeeded", Fields: []connector.Field{{Name: "otp"}, {Name: "resume"}}}), state: "bug", events: allRead},
		"a long address":          {institutionData: ends(connector.Outcome{State: "webauthRequired", URL: "https://bank.example/?token=" + strings.Repeat("x", 8000)}), state: "webauthRequired", events: allRead},
		"an address of 10 MB":     {institutionData: ends(connector.Outcome{State: "webauthRequired", URL: strings.Repeat("x", 10<<20)}), state: "bug", events: allRead},
		"a consent that is over":  {institutionData: ends(connector.Outcome{ConsentUntil: &past}), state: "bug", events: allRead},
		"a message of 10 MB":      {institutionData: ends(connector.Outcome{State: "actionNeeded", Message: strings.Repeat("\xed\xa0\xbd\x00", 3<<20)}), state: "actionNeeded", events: allRead},
		"not before a century on": {institutionData: ends(connector.Outcome{State: "rateLimiting", RetryAfter: 100 * 365 * 24 * time.Hour}), state: "rateLimiting", events: allRead},
	}
}

func misbehaviour() map[string]connectorFault {
	b := soundBooks()
	broken := errors.New("the line broke")
	// The function `after` returns a read that reports the accounts before the fault.
	after := func(then func(out connector.Sink) error) reading {
		return func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, errors.Join(out.Accounts(b.accounts), then(out))
		}
	}
	return map[string]connectorFault{
		"it breaks off": {read: func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, broken
		}, state: "websiteUnavailable", events: onlySynced},
		"it panics":                  {read: after(func(connector.Sink) error { panic("out of order") }), state: "bug", events: someFetched},
		"it ends its goroutine":      {read: after(func(connector.Sink) error { runtime.Goexit(); return nil }), state: "bug", events: someFetched},
		"accounts twice":             {read: after(func(out connector.Sink) error { return out.Accounts(b.accounts) }), state: "bug", events: someFetched},
		"an account not asked for":   {read: after(func(out connector.Sink) error { return out.Transactions("b", b.transactions) }), state: "bug", events: someFetched},
		"an account of nobody":       {read: after(func(out connector.Sink) error { return out.Transactions("x", b.transactions) }), state: "bug", events: someFetched},
		"the end of another account": {read: after(func(out connector.Sink) error { return out.AccountRead("b", passerelle.Date{}) }), state: "bug", events: someFetched},
		"a subscription not asked for": {read: after(func(out connector.Sink) error {
			return errors.Join(out.Subscriptions(b.subscriptions), out.Documents("u", b.documents))
		}), state: "bug", events: someFetched},
		"the end of another one": {read: after(func(out connector.Sink) error {
			return errors.Join(out.Subscriptions(b.subscriptions), out.SubscriptionRead("u"))
		}), state: "bug", events: someFetched},
		"more after the end": {read: after(func(out connector.Sink) error {
			return errors.Join(out.Transactions("a", b.transactions), out.AccountRead("a", passerelle.Date{}), out.Transactions("a", b.transactions))
		}), state: "bug", events: accountRead},
		"it does not heed an error": {read: func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			_, _ = out.Accounts(append(b.accounts, b.accounts...)), out.Transactions("a", nil)
			return connector.Outcome{}, nil
		}, state: "bug", events: onlySynced},
		"it gives up in between": {read: after(func(out connector.Sink) error {
			return errors.Join(out.Transactions("a", b.transactions[:1]), broken)
		}), state: "websiteUnavailable", events: someFetched},
		"it forgets the rest": {read: after(func(out connector.Sink) error { return out.Transactions("a", b.transactions[:1]) }), events: someFetched},
		"it talks over itself": {read: after(func(out connector.Sink) error {
			var all sync.WaitGroup
			for _, one := range b.transactions {
				all.Go(func() { _ = out.Transactions("a", []passerelle.TransactionDetails{one}) })
			}
			all.Wait()
			return out.AccountRead("a", passerelle.Date{})
		}), events: accountRead},
	}
}

// TestHostileConnectors checks the state and the events after each fault, and that the stored
// transactions, documents and consents stay. The fault must not affect the next correct run.
func TestHostileConnectors(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		eyes := storetest.Inspect(t, h.url)
		for _, crimes := range []map[string]connectorFault{spoiltAccounts(), spoiltTransactions(), spoiltDocuments(), spoiltOutcomes(), misbehaviour()} {
			for name, connectorFault := range crimes {
				id := h.shared(s)
				before := eyes.Lines(institutionRows)
				if s.read = connectorFault.read; s.read == nil {
					b := soundBooks()
					connectorFault.institutionData(&b)
					s.read = b.read
				}
				state, err := h.resume(id)
				if err != nil || state != connectorFault.state {
					t.Errorf("%s: %q (%v), want %q", name, state, err, connectorFault.state)
				}
				if got := names(h.events()); got != connectorFault.events {
					t.Errorf("%s: events %s, want %s", name, got, connectorFault.events)
				}
				h.stillWhole(name, before, eyes.Lines(institutionRows))
				h.recovers(name, s, id)
			}
		}
	})
}

// institutionRows contains queries for the data that a faulty connector must not change.
var institutionRows = map[string]string{
	"transactions": `SELECT * FROM bank_transaction`,
	"documents":    `SELECT * FROM document`,
	"consents":     `SELECT * FROM consent`,
}

// stillWhole checks that the rows of institutionRows are as before the fault. New accounts, and
// changes of the second account, may stay.
func (h *fixture) stillWhole(name string, before, after map[string][]string) {
	h.t.Helper()
	for table := range institutionRows {
		if diff := cmp.Diff(before[table], after[table]); diff != "" {
			h.t.Errorf("%s: %s (-before +after):\n%s", name, table, diff)
		}
	}
}

// recovers reads again with a correct connector, and then deletes the connection.
func (h *fixture) recovers(name string, s *hostileConnector, id passerelle.ConnectionID) {
	h.t.Helper()
	s.read = soundBooks().read
	state, err := h.resume(id)
	events := h.events()
	if err != nil || state != "" || names(events) != allRead {
		h.t.Errorf("%s, afterwards: %q (%v), events %s", name, state, err, names(events))
		return
	}
	if reported := events[1].body["transactions"].([]any); len(reported) > 0 {
		h.t.Errorf("%s, afterwards: %d transactions are told of", name, len(reported))
	}
	must(h.t, h.Disconnect(h.t.Context(), h.domain, h.user.ID, id))
	h.events()
}

func (h *fixture) shareSubscription(connection passerelle.ConnectionID, key string) {
	h.t.Helper()
	all, err := bankstore.From(h.DB).Subscriptions(h.t.Context(), bankstore.SubscriptionFilter{Domain: h.domain.ID, User: h.user.ID, Connection: connection, All: true}, store.Window{Limit: 10})
	must(h.t, err)
	no := false
	for _, one := range all {
		if one.Key == key {
			must(h.t, h.ChangeSubscriptions(h.t.Context(), h.domain, h.user.ID, []passerelle.SubscriptionID{one.ID}, aggregation.SubscriptionChange{Disabled: &no, Origin: "api"}))
		}
	}
}

// After a crash, the next read must have BrokenOff set. After a failure of the connector, the next
// read must also have BrokenOff set, because the service did not store the memory of the failed
// read. TestReadsAfterACrash checks both.
func TestReadsAfterACrash(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		var broken []bool
		s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			broken = append(broken, req.BrokenOff)
			return soundBooks().read(ctx, req, out)
		}
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error { // this run never ends
			bankstore.In(tx).LeaseConnection(h.domain.ID, id, "somebody", -time.Second)
			return nil
		}))
		h.share(h.accounts(true)[1], true)
		sound := s.read
		for _, s.read = range []reading{sound, sound, misbehaviour()["accounts twice"].read, sound, misbehaviour()["it panics"].read, sound, sound} {
			_, err := h.resume(id)
			must(t, err)
		}
		if !slices.Equal(broken, []bool{true, false, true, true, false}) {
			t.Errorf("the reads after a crash say %v", broken)
		}
	})
}

// A connector fails after it has reported some transactions of an account. Clients can read these
// transactions immediately, but the events report them only after the account has been read
// completely. TestHalfAPageIsInTheFinalEvent checks this.
func TestHalfAPageIsInTheFinalEvent(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		b := soundBooks()
		b.accounts[0].Name = "Renamed"
		b.transactions = append(b.transactions, booked("4", 0), booked("5", 0))
		s.read = func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, errors.Join(out.Accounts(b.accounts), out.Transactions("a", b.transactions[:4]), errors.New("the line broke"))
		}
		state, err := h.resume(id)
		events := h.events()
		if err != nil || state != passerelle.WebsiteUnavailable || names(events) != someFetched || h.transactions() != 4 {
			t.Errorf("%q (%v), %d transactions, events %s", state, err, h.transactions(), names(events))
		}
		reported := events[1].body["connection"].(map[string]any)["accounts"].([]any)
		if len(reported) != 1 || len(reported[0].(map[string]any)["transactions"].([]any)) > 0 {
			t.Errorf("told of %v", reported)
		}
		s.read = b.read
		_, err = h.resume(id)
		must(t, err)
		var labels []string
		for _, one := range h.events()[1].body["transactions"].([]any) {
			labels = append(labels, one.(map[string]any)["original_wording"].(string))
		}
		slices.Sort(labels)
		if diff := cmp.Diff([]string{"SHOP 4", "SHOP 5"}, labels); diff != "" {
			t.Errorf("told of (-want +got):\n%s", diff)
		}
	})
}

func TestIllegibleTextIsMarked(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		b := soundBooks()
		bad := booked("4", 0)
		bad.Wording, bad.SimplifiedWording = "CAF\xe9 \xed\xa0\xbd\x00!", "half \xed\xa0\xbd"
		b.transactions, b.outcome = append(b.transactions, bad), connector.Outcome{
			State: passerelle.RateLimiting, Message: strings.Repeat("\xed\xa0\xbd\x00é", 1<<20), RetryAfter: 100 * 365 * 24 * time.Hour,
		}
		s.read = b.read
		_, err := h.resume(id)
		must(t, err)
		reported := h.events()[1].body["transactions"].([]any)
		if len(reported) != 1 || reported[0].(map[string]any)["original_wording"] != "CAF\uFFFD \uFFFD\uFFFD!" {
			t.Errorf("told of %v", reported)
		}
		found, err := bankstore.From(h.DB).Transactions(t.Context(), bankstore.TransactionFilter{Domain: h.domain.ID, User: h.user.ID, Wording: "caf\uFFFD \uFFFD"}, store.Window{Limit: 10})
		if err != nil || len(found) != 1 || found[0].TransactionDetails.Wording != "CAF\uFFFD \uFFFD\uFFFD!" {
			t.Errorf("found %+v (%v)", found, err)
		}
		c, err := h.Connection(t.Context(), h.domain, h.user.ID, id)
		if err != nil || len([]rune(c.Message)) != 1000 || !strings.HasPrefix(c.Message, "\uFFFD\uFFFDé") {
			t.Errorf("a message of %d letters (%v)", len([]rune(c.Message)), err)
		}
		if most := h.now.Add(7 * 24 * time.Hour); c.NextTry == nil || c.NextTry.After(most) {
			t.Errorf("tried again at %v, not before %s", c.NextTry, most)
		}
	})
}

// TestPicturesOfFields checks that a client gets the Image of a field only if Image is the data URL
// of a picture.
func TestPicturesOfFields(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		const picture = "data:image/png;base64,iVBORw0KGgo="
		for image, want := range map[string]bool{picture: true, "https://bank.example/track.png": false, "javascript:alert(1)": false} {
			s.read = ending(connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{{Name: "otp", Type: "text", Image: image}}})
			_, err := h.resume(id)
			must(t, err)
			if shown := h.loaded(id).Fields; strings.Contains(shown, image) != want || !strings.Contains(shown, "otp") {
				t.Errorf("%s: %s", image, shown)
			}
		}
	})
}

// TestAttachmentsAreBounded checks that the service reports the largest allowed number of
// attachments in one event.
func TestAttachmentsAreBounded(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		b, most := soundBooks(), booked("4", 0)
		most.Attachments = receipts(20)
		b.transactions = append(b.transactions, most)
		s.read = b.read
		state, err := h.resume(id)
		events := h.events()
		if err != nil || state != "" || names(events) != strings.Replace(allRead, "CONNECTION", "TRANSACTION_ATTACHMENTS_FOUND CONNECTION", 1) {
			t.Fatalf("%q (%v), events %s", state, err, names(events))
		}
		if reported := events[len(events)-2].body["attachments"].([]any); len(reported) != 20 || reported[0].(map[string]any)["name"] != "receipt \uFFFD\uFFFD" {
			t.Errorf("told of %v", reported)
		}
	})
}

// TestManyAttachmentsAreReported checks that a sync emits one event for each of 250 transactions
// with attachments.
func TestManyAttachmentsAreReported(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		b := soundBooks()
		for i := range 250 {
			one := booked(fmt.Sprint("more ", i), 0)
			one.Attachments = receipts(1)
			b.transactions = append(b.transactions, one)
		}
		s.read = b.read
		state, err := h.resume(id)
		events := h.events()
		want := strings.Replace(allRead, "CONNECTION_SYNCED", strings.Repeat("TRANSACTION_ATTACHMENTS_FOUND ", 250)+"CONNECTION_SYNCED", 1)
		if err != nil || state != "" || names(events) != want {
			t.Fatalf("%q (%v), events %s", state, err, names(events))
		}
		reported := map[any]bool{}
		for _, e := range events {
			if e.name == "TRANSACTION_ATTACHMENTS_FOUND" {
				reported[e.body["id_transaction"]] = true
			}
		}
		if len(reported) != 250 {
			t.Errorf("told of %d transactions, want 250", len(reported))
		}
	})
}

// TestLogsHoldNothingPersonal checks that the log contains the kind of a connector's failure, but
// not the owner of the account.
func TestLogsHoldNothingPersonal(t *testing.T) {
	const person = "Zyzzyva Martin FR7630006000011234567890189"
	moonLanding := time.Date(1969, 7, 20, 0, 0, 0, 0, time.UTC)
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		var log bytes.Buffer
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		b := soundBooks()
		for name, connectorFault := range map[string]struct {
			read reading
			says string
		}{
			"an error": {func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
				return connector.Outcome{}, fmt.Errorf("no account %s: %w", person, context.DeadlineExceeded)
			}, "an error of the connector: context deadline exceeded"},
			"a panic": {func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
				panic(person)
			}, "the connector panicked: a string"},
			"a currency": {func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
				err := out.Accounts([]passerelle.AccountDetails{{Key: person, Currency: person}})
				return connector.Outcome{}, fmt.Errorf("%s: %w", person, err)
			}, "a currency is none of ISO 4217"},
			"a key with a NUL": {func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
				return connector.Outcome{}, out.Accounts([]passerelle.AccountDetails{{Key: person + "\x00"}})
			}, "distinct keys of 1 to 255 bytes of valid UTF-8 without NUL"},
			"a row's key": {func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
				return connector.Outcome{}, errors.Join(out.Accounts(b.accounts), out.Transactions("a", []passerelle.TransactionDetails{booked("\xff", 1)}))
			}, "a key of 1 to 255 bytes of valid UTF-8 without NUL"},
			"a state":   {ending(connector.Outcome{State: person}), "no run ends in such a state"},
			"a consent": {ending(connector.Outcome{ConsentUntil: &moonLanding}), "a consent ends after now"},
			"a memory":  {ending(connector.Outcome{Memory: []byte(strings.Repeat(person, 1<<20))}), "a run leaves at most"},
			"a total": {func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
				err := errors.Join(out.Accounts(b.accounts), out.Transactions("a", []passerelle.TransactionDetails{{Key: person, Wording: person, Date: passerelle.DateOf(noon, time.UTC), Value: decimal.MustParse("-9999999999999999999")}}))
				return connector.Outcome{}, errors.Join(errors.New(person), err)
			}, "an amount has more digits than any"},
		} {
			id := h.shared(s)
			log.Reset()
			s.read = connectorFault.read
			_, err := h.resume(id)
			must(t, err)
			for _, word := range []string{"Zyzzyva", "Martin", "FR76", "1969"} {
				if strings.Contains(log.String(), word) {
					t.Errorf("%s: the log has %s: %.500s", name, word, &log)
				}
			}
			if !strings.Contains(log.String(), connectorFault.says) {
				t.Errorf("%s: the log does not say %q: %.500s", name, connectorFault.says, &log)
			}
			if strings.Count(log.String(), "the connector gave invalid data") > 1 {
				t.Errorf("%s: the log repeats itself: %.500s", name, &log)
			}
		}
	})
}

// TestMemoryStoredDuringARead checks that the memory that a connector stores during a read is not
// lost when the read fails later. The next read must get it. Nothing more may be stored after the
// read has ended.
func TestMemoryStoredDuringARead(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		var save func(context.Context, []byte)
		s.read = func(ctx context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			save = req.Save
			save(ctx, []byte("the first token"))
			save(ctx, []byte("the second token"))
			panic("the connector is broken")
		}
		_, err := h.resume(id)
		must(t, err)
		save(t.Context(), []byte("a late token"))
		var got []byte
		s.read = func(_ context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			got = req.Memory
			return connector.Outcome{Memory: []byte("the last token")}, nil
		}
		_, err = h.resume(id)
		must(t, err)
		if string(got) != "the second token" {
			t.Errorf("the next read gets %q", got)
		}
	})
}

// TestMemoryStoredWithoutTheLease checks that a connector cannot store a memory once another run has
// the lease of the connection, although the connector's own run has not ended yet.
func TestMemoryStoredWithoutTheLease(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{Memory: []byte("the other run's token")}, nil
		}
		_, err := h.resume(id)
		must(t, err)
		s.read = func(ctx context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			storetest.Break(t, h.url, `UPDATE connection SET holder = 'another'`)
			req.Save(ctx, []byte("a late token"))
			return connector.Outcome{Memory: []byte("a later token")}, nil
		}
		if state, err := h.resume(id); err == nil {
			t.Errorf("without its lease, a run ended with %q", state)
		}
		storetest.Break(t, h.url, `UPDATE connection SET lease_until = 0`)
		var got string
		s.read = func(_ context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			got = string(req.Memory)
			return connector.Outcome{}, nil
		}
		_, err = h.resume(id)
		must(t, err)
		if got != "the other run's token" {
			t.Errorf("the next read gets %q", got)
		}
	})
}

// consenting is a connector that can end a consent. The service calls Terminate after the deletion
// of a connection.
type consenting struct {
	*hostileConnector
	terminate func(context.Context, connector.DataRequest) error
}

func (c *consenting) Terminate(ctx context.Context, req connector.DataRequest) error {
	return c.terminate(ctx, req)
}

// After a failed try to end a consent, the next try gets the memory that the connector stored.
// After the end of the consent, the service stores no memory.
func TestMemoryStoredDuringATermination(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		c := &consenting{hostileConnector: s}
		registry, err := connector.NewRegistry(c)
		must(t, err)
		h.Connectors = registry
		s.read = func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{Memory: []byte("token 0")}, nil
		}
		connection, err := h.connect("anna", "1234")
		must(t, err)
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, connection.ID))
		var got []string
		var save func(context.Context, []byte)
		c.terminate = func(ctx context.Context, req connector.DataRequest) error {
			got, save = append(got, string(req.Memory)), req.Save
			if len(got) == 3 {
				return nil
			}
			save(ctx, fmt.Appendf(nil, "token %d", len(got)))
			return errors.New("the bank is gone")
		}
		for range 4 {
			must(t, h.TerminateConsents(t.Context(), h.domain))
			h.domain.Clock.Offset += time.Hour
		}
		if diff := cmp.Diff([]string{"token 0", "token 1", "token 2"}, got); diff != "" {
			t.Errorf("the connector got (-want +got):\n%s", diff)
		}
		save(t.Context(), []byte("too late"))
		kept := storetest.Inspect(t, h.url).Lines(map[string]string{"memory": `SELECT id FROM connection WHERE memory IS NOT NULL`})["memory"]
		if len(kept) > 0 {
			t.Errorf("a memory is stored after the end: %v", kept)
		}
	})
}

// TestConnectorsThatIgnoreTheirDeadline checks that the run does not wait for a connector that
// ignores its deadline, and that the run drops the late result.
func TestConnectorsThatIgnoreTheirDeadline(t *testing.T) {
	defer aggregation.SetConnectorTimes(aggregation.SetConnectorTimes(time.Millisecond, time.Hour))
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		wake, late := make(chan struct{}), make(chan error)
		s.read = func(ctx context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			err := out.Accounts(soundBooks().accounts)
			<-ctx.Done()
			<-wake
			_, wanted := out.Wanted("a")
			late <- errors.Join(err, out.Transactions("a", []passerelle.TransactionDetails{booked("4", 0)}))
			if wanted {
				t.Error("an account is wanted of a visit that is over")
			}
			return connector.Outcome{}, nil
		}
		before := aggregation.SetMaxRunTime(time.Second)
		state, err := h.resume(id)
		aggregation.SetMaxRunTime(before)
		if err != nil || state != passerelle.WebsiteUnavailable {
			t.Errorf("left behind: %q (%v)", state, err)
		}
		if got := names(h.events()); got != someFetched {
			t.Errorf("events %s", got)
		}
		close(wake)
		if err := <-late; err == nil || h.transactions() != 3 {
			t.Errorf("heard afterwards: %v, %d transactions", err, h.transactions())
		}
		h.recovers("deaf", s, id)
	})
}

// TestSyncsOfDeletedConnections deletes a connection during a read. The caller of the read must get
// NotFound, and no event may report the connection after its deletion.
func TestSyncsOfDeletedConnections(t *testing.T) {
	defer aggregation.SetConnectorTimes(aggregation.SetConnectorTimes(time.Hour, time.Millisecond))
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		for name, rest := range map[string]reading{
			"that goes on": soundBooks().read,
			"that waits": func(ctx context.Context, _ connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
				<-ctx.Done() // canceled because the lease is lost
				return connector.Outcome{}, nil
			},
		} {
			id := h.shared(s)
			s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
				must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, id))
				return rest(ctx, req, out)
			}
			if _, err := h.resume(id); !errors.Is(err, passerelle.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
			if got := names(h.events()); got != "CONNECTION_DELETED" {
				t.Errorf("%s: events %s", name, got)
			}
		}
	})
}

// TestLongEndKeepsTheLease checks that the lease is renewed after the connector has returned, while
// the run writes its last events.
func TestLongEndKeepsTheLease(t *testing.T) {
	defer aggregation.SetConnectorTimes(aggregation.SetConnectorTimes(time.Hour, time.Millisecond))
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		eyes, returned := storetest.Inspect(t, h.url), false
		lease := func() []string {
			return eyes.Lines(map[string]string{"lease": `SELECT lease_until FROM connection WHERE lease_until > 0`})["lease"]
		}
		s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			o, err := soundBooks().read(ctx, req, out)
			returned = true
			return o, err
		}
		now := h.Now
		h.Now = func() time.Time {
			if returned {
				returned = false
				for begun := lease(); cmp.Equal(begun, lease()) && t.Context().Err() == nil; {
					runtime.Gosched()
				}
			}
			return now()
		}
		if state, err := h.resume(id); err != nil || state != "" || returned {
			t.Errorf("%q (%v), the end waited: %t", state, err, !returned)
		}
	})
}

func TestLongSilenceKeepsTheLease(t *testing.T) {
	defer aggregation.SetConnectorTimes(aggregation.SetConnectorTimes(time.Hour, time.Millisecond))
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		id := h.shared(s)
		eyes := storetest.Inspect(t, h.url)
		lease := func() []string {
			return eyes.Lines(map[string]string{"lease": `SELECT lease_until FROM connection WHERE lease_until > 0`})["lease"]
		}
		s.read = func(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			for begun := lease(); cmp.Equal(begun, lease()) && ctx.Err() == nil; {
				runtime.Gosched()
			}
			return soundBooks().read(ctx, req, out)
		}
		if state, err := h.resume(id); err != nil || state != "" {
			t.Errorf("%q (%v)", state, err)
		}
	})
}
