package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/wire"
)

func each[T any](items ...T) wire.Each[T] {
	return func(write func(T)) error {
		for _, one := range items {
			write(one)
		}
		return nil
	}
}

var shop = wire.NewTransaction(passerelle.Transaction{TransactionDetails: passerelle.TransactionDetails{
	Wording: "A & B <shop>", Value: decimal.MustParse("-12.50"), Type: "card", Date: passerelle.DateOf(time.Unix(0, 0), time.UTC), RDate: passerelle.DateOf(time.Unix(0, 0), time.UTC),
}}, "EUR", time.UTC)

func account(transactions ...wire.Transaction) wire.AccountRead {
	return wire.AccountRead{
		BankAccount: wire.NewBankAccount(passerelle.BankAccount{AccountDetails: passerelle.AccountDetails{Type: "checking", Currency: "EUR"}}, time.UTC),
		Investments: each[wire.Investment](), Transactions: each(transactions...),
	}
}

// TestPayloadsHoldResources checks that each body is compact JSON. Each body must have the expected
// members.
func TestPayloadsHoldResources(t *testing.T) {
	read := account(shop, shop)
	read.MarketOrders = each[wire.MarketOrder]()
	connection := wire.ConnectionRead{Accounts: each(read, account()), Subscriptions: each(wire.SubscriptionRead{Documents: each(wire.Document{}, wire.Document{})})}
	for name, test := range map[string]struct {
		write func(*wire.Payload) error
		want  []string // members of the body
		items string   // the member that has the transactions
	}{
		"account":      {func(p *wire.Payload) error { return p.Account(account(shop, shop)) }, []string{"investments", "recipients", "transactions", "transfers"}, "transactions"},
		"transactions": {func(p *wire.Payload) error { return p.Transactions(each(shop, shop)) }, []string{"transactions"}, "transactions"},
		"ownerships":   {func(p *wire.Payload) error { return p.Ownerships(each(wire.Ownership{}, wire.Ownership{})) }, []string{"account_ownerships"}, ""},
		"subscription": {func(p *wire.Payload) error {
			return p.Subscription(wire.SubscriptionRead{Documents: each(wire.Document{})})
		}, []string{"documents"}, ""},
		"fetched": {func(p *wire.Payload) error {
			return p.Fetched(wire.User{}, wire.Connection{}, each(read.BankAccount, read.BankAccount))
		}, []string{"user", "connection"}, ""},
		"connection":  {func(p *wire.Payload) error { return p.Connection(wire.User{}, connection) }, []string{"user", "connection"}, ""},
		"connections": {func(p *wire.Payload) error { return p.Connections(wire.User{}, each(connection, connection)) }, []string{"user", "connections"}, ""},
		"as it is":    {func(p *wire.Payload) error { return p.Object(shop) }, []string{"wording"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var body, compact bytes.Buffer
			if err := test.write(wire.NewPayload(&body)); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&compact, body.Bytes()); err != nil || !bytes.Equal(compact.Bytes(), body.Bytes()) {
				t.Fatalf("not compact JSON: %v\n%s", err, &body)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(body.Bytes(), &members); err != nil {
				t.Fatal(err)
			}
			for _, name := range test.want {
				if _, has := members[name]; !has {
					t.Errorf("no member %q:\n%s", name, &body)
				}
			}
			if want := slices.Concat([]byte("["), wire.Encode(shop), []byte(","), wire.Encode(shop), []byte("]")); test.items != "" && !bytes.Equal(members[test.items], want) {
				t.Errorf("%s\nwant %s", members[test.items], want)
			}
		})
	}
}

// TestPayloadsFail checks that writing a body fails with the first error that a list or the writer
// returns.
func TestPayloadsFail(t *testing.T) {
	lost := errors.New("lost")
	failing := func(func(wire.Transaction)) error { return lost }
	broken, pipe := io.Pipe()
	broken.CloseWithError(lost)
	for name, err := range map[string]error{
		"a list":       wire.NewPayload(io.Discard).Transactions(failing),
		"a list below": wire.NewPayload(io.Discard).Account(wire.AccountRead{Investments: each[wire.Investment](), Transactions: failing}),
		"the writer":   wire.NewPayload(pipe).Account(account(shop)),
	} {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// mostOfABody is the permitted average number of allocations for each transaction in a body. It is
// a quarter above the measured number.
const mostOfABody = 1.25

func TestAllocationsOfABody(t *testing.T) {
	const transactions = 1000
	got := testing.AllocsPerRun(10, func() {
		err := wire.NewPayload(io.Discard).Transactions(func(write func(wire.Transaction)) error {
			for range transactions {
				write(shop)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}) / transactions
	before := testing.AllocsPerRun(100, func() { _ = string(wire.Encode(shop)) })
	t.Logf("%.1f allocations, %.1f when encoded alone", got, before)
	if got > mostOfABody {
		t.Errorf("%.1f allocations, at most %.2f", got, mostOfABody)
	}
}
