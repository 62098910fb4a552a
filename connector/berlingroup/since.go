package berlingroup

import (
	"context"
	"errors"
	"net/url"

	"passerelle"
	"passerelle/connector/identity"
)

// Without the person, the service asks for what is new since the last read where the bank
// supports it: entries after a reference, or a delta. Neither reports deleted entries. So a
// read asks for everything by date each week, when the person is present, after an unfinished
// read, and while a transaction without an id is pending, which may get an id when it is
// booked.

// accountMemory is what is known about an account between two reads.
type accountMemory struct {
	// Read is the day of the last read, and Whole the day of the last read by date.
	Read  passerelle.Date `json:"read,omitzero"`
	Whole passerelle.Date `json:"whole,omitzero"`
	// Reference is the entry after which the bank is asked for more.
	Reference string `json:"reference,omitempty"`
	// Names recognise transactions without an id.
	Names identity.Memory `json:"names,omitzero"`
}

const (
	// wholeDays is how many days are between two reads by date.
	wholeDays = 7
	// rereadDays is how many days before the last read the service asks for again in an account of
	// which it keeps transactions. An account of which it keeps none is asked for from much
	// earlier.
	rereadDays = 31
	// farDays is more days than any transaction lies ahead. A read of what is new reports that it
	// was complete from then on, so no stored transaction counts as gone.
	farDays = 100 * 366
	// maxRemembered is how many accounts are remembered.
	maxRemembered = 200
)

// sinceLast selects what is new in an account. It is nil when everything is read by date.
func (v *reading) sinceLast(a *bankAccount, from passerelle.Date) url.Values {
	last, has := v.memory.Accounts[a.key], v.file.Profile.Accounts
	switch {
	case v.Present || v.BrokenOff || !has.TransactionIDs || last.Whole.IsZero() || last.Names.Unnamed,
		v.day().Compare(last.Whole.AddDays(wholeDays)) >= 0,
		from.Compare(last.Read.AddDays(-rereadDays)) < 0 || has.HistoryDays <= 2*rereadDays:
		return nil
	case has.EntryReference && last.Reference != "":
		return url.Values{"entryReferenceFrom": {last.Reference}}
	case has.DeltaList:
		return url.Values{"deltaList": {"true"}}
	}
	return nil
}

// readSince passes on what is new, and reports false when the bank cannot select it.
func (v *reading) readSince(ctx context.Context, a *bankAccount, selected url.Values) (bool, error) {
	last := v.memory.Accounts[a.key]
	v.memory.Accounts[a.key] = accountMemory{Read: last.Read, Names: last.Names} // until it is read: a bank tells what is new only once
	s := v.history(a)
	err := v.readHistory(ctx, s, selected)
	var refused *readRefusal
	if errors.As(err, &refused) && refused.state == passerelle.Bug || err == nil && s.names.Unnamed() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.reference == "" {
		s.reference = last.Reference
	}
	v.remember(s, last.Whole, identity.Memory{Renamed: last.Names.Renamed})
	return true, v.out.AccountRead(a.key, v.day().AddDays(farDays))
}

// remember notes a read that came to its end.
func (v *reading) remember(s *history, whole passerelle.Date, recognised identity.Memory) {
	if v.memory.Accounts == nil {
		v.memory.Accounts = map[string]accountMemory{}
	}
	_, known := v.memory.Accounts[s.account.key]
	if known || len(v.memory.Accounts) < maxRemembered {
		v.memory.Accounts[s.account.key] = accountMemory{Read: v.day(), Whole: whole, Reference: bounded(s.reference), Names: recognised}
	}
}
