package statements_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/statements"
)

const file = ":20:A\n:25:FR7630006000011234567890189\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR120,00\n" +
	":20:B\n:25:DE89370400440532013000\n:60F:C261031EUR1,00\n:61:261102D10,00NTRFNONREF\n:86:Rent\n:62F:D261105EUR9,00\n-\n"

func handed(text string) *connector.HandedFile {
	return &connector.HandedFile{ReadSeeker: strings.NewReader(text), Name: "november.sta"}
}

func request() connector.DataRequest {
	return connector.DataRequest{Source: "files", File: handed(file), Present: true, Now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
}

// A read without a file passes on no accounts and returns no memory.
func TestReadWithoutFile(t *testing.T) {
	r, out := request(), &taken{}
	r.File = nil
	if o, err := (statements.Connector{}).Read(t.Context(), r, out); err != nil || o.State != "" || o.Memory != nil || out.accounts != nil {
		t.Errorf("%v %+v, handed over %v", err, o, out.accounts)
	}
}

// A read returns an error of the sink, and ends when it is cancelled.
func TestReadsThatBreakOff(t *testing.T) {
	failure := errors.New("the sink fails")
	if _, err := (statements.Connector{}).Read(t.Context(), request(), &taken{fails: failure}); !errors.Is(err, failure) {
		t.Errorf("%v, want that of the sink", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &taken{}
	if _, err := (statements.Connector{}).Read(ctx, request(), out); !errors.Is(err, context.Canceled) || out.accounts != nil {
		t.Errorf("%v after a cancellation, handed over %v", err, out.accounts)
	}
}

func TestProfileLoads(t *testing.T) {
	if _, err := connector.NewRegistry(statements.Connector{}); err != nil {
		t.Error(err)
	}
}

type taken struct {
	connector.Sink
	accounts []passerelle.AccountDetails
	entries  []passerelle.TransactionDetails
	fails    error
}

func (s *taken) Accounts(all []passerelle.AccountDetails) error {
	s.accounts = all
	return nil
}
func (*taken) Wanted(string) (passerelle.Date, bool)     { return passerelle.Date{}, true }
func (*taken) AccountRead(string, passerelle.Date) error { return nil }
func (s *taken) Transactions(_ string, page []passerelle.TransactionDetails) error {
	s.entries = append(s.entries, page...)
	return s.fails
}

// The connector passes on no data from a file that is damaged at its end.
func TestDamagedFileHandsNothingOver(t *testing.T) {
	r, out := request(), &taken{}
	r.File = handed(file + ":20:C\n:61:x\n")
	if _, err := (statements.Connector{}).Read(t.Context(), r, out); err == nil || out.accounts != nil || out.entries != nil {
		t.Errorf("%v, handed over %v %v", err, out.accounts, out.entries)
	}
}

// A file about one account does not remove other accounts. An older balance does not replace a
// newer one.
func TestAccountsAreRemembered(t *testing.T) {
	first, err := statements.Connector{}.Read(t.Context(), request(), &taken{})
	if err != nil {
		t.Fatal(err)
	}
	r, out := request(), &taken{}
	r.Memory = first.Memory
	r.File = handed(":20:A\n:25:FR7630006000011234567890189\n:60F:C260930EUR90,00\n:62F:C261030EUR90,00\n-\n")
	if _, err := (statements.Connector{}).Read(t.Context(), r, out); err != nil {
		t.Fatal(err)
	}
	if len(out.accounts) != 2 || out.accounts[1].Balance.String() != "120.00" {
		t.Errorf("the accounts are %+v", out.accounts)
	}
}

// Equal entries are different transactions. Each has the same key when the file is read again.
func TestKeysOfEntriesThatAreAlike(t *testing.T) {
	first, again := &taken{}, &taken{}
	for _, out := range []*taken{first, again} {
		if _, err := (statements.Connector{}).Read(t.Context(), request(), out); err != nil {
			t.Fatal(err)
		}
	}
	keys := map[string]bool{}
	for i, e := range first.entries {
		keys[e.Key] = true
		if e.Key != again.entries[i].Key {
			t.Errorf("entry %d has another key the second time", i)
		}
	}
	if len(keys) != 3 {
		t.Errorf("%d keys of 3 entries", len(keys))
	}
	if o := first.entries[2].Origin; o == nil || *o != (passerelle.Origin{File: "november.sta", Line: 6}) {
		t.Errorf("the last entry of the first account comes from %v", o)
	}
}
