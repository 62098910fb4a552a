package berlingroup

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"passerelle"
	"passerelle/connector/identity"
)

// If the bank supports it, a read without the customer requests only the entries since the last
// read: entries after a reference, or a delta. A delta begins where the bank's last report to the
// service ended. A read with a delta therefore requests a single report. A second report in the
// same read would omit the entries of the first report. Neither method reports deleted entries. A
// read therefore requests everything by date once a week. It also requests everything when the
// customer is present, when the sink wants older transactions, and when the bank's history is
// short. The same applies after an unfinished read, and while a transaction without an id is
// pending. Such a transaction may get an id when it is booked.

// accountMemory is the stored data about an account between two reads.
type accountMemory struct {
	// Read is the day of the last read. Whole is the day of the last read by date.
	Read  passerelle.Date `json:"read,omitzero"`
	Whole passerelle.Date `json:"whole,omitzero"`
	// Recent means that the bank refused older transactions than those of unapprovedDays. The next
	// complete read drops it.
	Recent bool `json:"recent,omitempty"`
	// Reference is the reference of the entry after which the next read continues.
	Reference string `json:"reference,omitempty"`
	// Names contains the data by which transactions without an id are recognised.
	Names identity.Memory `json:"names,omitzero"`
}

const (
	// wholeDays is the number of days between two reads by date.
	wholeDays = 7
	// rereadDays is the largest number of days before the last read that the service usually wants
	// to read again. For accounts without stored transactions, the service wants a much longer
	// period.
	rereadDays = 31
	// farDays is so large that the day farDays after today is later than any transaction. A read of
	// only new entries reports completeness only from that distant day on, because otherwise the
	// service would mark stored transactions as deleted.
	farDays = 100 * 366
	// maxRemembered is the maximum number of accounts in the memory.
	maxRemembered = 200
)

// sinceLast returns the query that selects the new entries in an account. It is nil when the read
// must request everything by date.
func (v *reading) sinceLast(a *bankAccount, from passerelle.Date) url.Values {
	last, has := v.memory.Accounts[a.key], v.file.Profile.Accounts
	switch {
	case v.Present || v.BrokenOff || !has.TransactionIDs || last.Whole.IsZero() || last.Names.Unnamed,
		v.day().Compare(last.Whole.AddDays(wholeDays)) >= 0,
		from.Compare(last.Read.AddDays(-rereadDays)) < 0 || has.HistoryDays <= 2*rereadDays:
		return nil
	case has.EntryReference && last.Reference != "":
		return url.Values{"entryReferenceFrom": {last.Reference}}
	case has.DeltaList && len(has.reports(a.family)) == 1:
		return url.Values{"deltaList": {"true"}}
	}
	return nil
}

// readSince passes on new entries. It returns false when the account must be read by date instead.
func (v *reading) readSince(ctx context.Context, a *bankAccount, selected url.Values) (bool, error) {
	last := v.memory.Accounts[a.key]
	v.memory.Accounts[a.key] = accountMemory{Read: last.Read, Names: last.Names} // drops Whole and Reference: if this read is interrupted, the next one requests everything, because a bank reports new entries only once
	s := v.history(a)
	err := v.readHistory(ctx, s, selected)
	if refused, is := errors.AsType[*readRefusal](err); is && refused.state == passerelle.Bug || err == nil && s.names.Unnamed() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.reference = cmp.Or(s.reference, last.Reference)
	v.remember(s, last.Whole, identity.Memory{Renamed: last.Names.Renamed})
	return true, v.out.AccountRead(a.key, v.day().AddDays(farDays))
}

// remember stores the state after a complete read.
func (v *reading) remember(s *history, whole passerelle.Date, recognised identity.Memory) {
	v.memory.keep(s.account.key, accountMemory{Read: v.day(), Whole: whole, Reference: bounded(s.reference), Names: recognised})
}

// keep stores the data about an account, unless the memory has maxRemembered other accounts.
func (m *readMemory) keep(key string, a accountMemory) {
	if m.Accounts == nil {
		m.Accounts = map[string]accountMemory{}
	}
	if _, known := m.Accounts[key]; known || len(m.Accounts) < maxRemembered {
		m.Accounts[key] = a
	}
}
