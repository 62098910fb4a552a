package connectortest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// Parties are the accounts and the field values that an order needs.
type Parties struct {
	// Payer and Beneficiary are accounts at the bank. If they are nil, the suite uses fictional
	// accounts. It then uses a payer's account only if the connector requires one.
	Payer, Beneficiary *passerelle.Account
	// Fields are the values of the payment fields.
	Fields map[string]string
}

// lastingDays is the number of days until a deferred or periodic order begins, within the limits of
// the settings.
const lastingDays = 30

// Orders returns a function that makes orders with one instruction, as the profile of a connector
// allows. Lasting orders are deferred if the connector supports deferred orders. Otherwise, they
// have the same date type as other orders.
func Orders(p connector.Profile, with Parties, lasting bool, now time.Time) (func() connector.Order, error) {
	if p.Payments == nil {
		return nil, fmt.Errorf("the profile of %s has no payments", p.Name)
	}
	line := instruction(*p.Payments, lasting, now)
	if with.Beneficiary != nil {
		line.Beneficiary = *with.Beneficiary
	}
	draft := payment.Draft{ClientRedirectURI: "https://client.example/back", Instructions: []payment.Instruction{line}}
	if p.Payments.PayerAccount == payment.PayerMandatory {
		draft.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000010000000000018", Label: "The Payer"}
	}
	if with.Payer != nil {
		draft.Payer = with.Payer
	}
	made, _, err := payment.New(draft, payment.Policy{Periodic: true}, rand.Reader, now)
	if err != nil {
		return nil, fmt.Errorf("make an order for %s: %w", p.Name, err)
	}
	prefix, number := rand.Text(), &atomic.Int64{}
	return func() connector.Order {
		return connector.Order{
			Domain: 1, Key: fmt.Sprintf("%s-%d", prefix, number.Add(1)), Payment: *made, Mechanism: payment.DefaultMechanism,
			Fields: with.Fields, ReturnURL: "https://service.example/2.0/webauth/callback?state=abc", Now: now,
		}
	}, nil
}

// instruction returns an instruction that the settings allow.
func instruction(s payment.Settings, lasting bool, now time.Time) payment.Instruction {
	line := payment.Instruction{
		ReferenceID: "ORDER-1", Label: "Order 1", DateType: dateType(s, lasting),
		Beneficiary: passerelle.Account{Scheme: passerelle.SortCode, Identification: "00000055779911", Label: "The Shop"},
	}
	if slices.Contains(s.Schemes, passerelle.IBAN) {
		line.Beneficiary.Scheme, line.Beneficiary.Identification = passerelle.IBAN, "FR7699999000000000000000033"
	}
	if len(s.Currencies) > 0 {
		line.Amount = passerelle.Money{Minor: max(1250, s.Minimum[line.DateType]), Currency: s.Currencies[0]}
	}
	if most, bounded := s.Maximum[line.DateType]; bounded {
		line.Amount.Minor = min(line.Amount.Minor, most)
	}
	if line.DateType == payment.Deferred {
		line.ExecutionDate = day(s, line.Beneficiary.Scheme, now)
	}
	if line.DateType == payment.Periodic && len(s.Frequencies) > 0 {
		line.StartDate, line.Frequency = day(s, line.Beneficiary.Scheme, now), s.Frequencies[0]
	}
	return line
}

// dateType returns the most preferred date type that the settings offer.
func dateType(s payment.Settings, lasting bool) payment.DateType {
	preferred := []payment.DateType{payment.FirstOpenDay, payment.Instant, payment.Deferred, payment.Periodic}
	if lasting {
		preferred = []payment.DateType{payment.Deferred, payment.FirstOpenDay, payment.Instant, payment.Periodic}
	}
	i := slices.IndexFunc(preferred, func(one payment.DateType) bool { return slices.Contains(s.DateTypes, one) })
	return preferred[max(i, 0)]
}

// day returns an open day between the minimum and the maximum of the settings, if there is one.
func day(s payment.Settings, scheme passerelle.AccountScheme, now time.Time) passerelle.Date {
	ahead := max(lastingDays, s.MinDays)
	if s.MaxDays > 0 {
		ahead = min(ahead, s.MaxDays)
	}
	today := passerelle.DateOf(now, time.UTC)
	at, earliest := today.AddDays(ahead), today.AddDays(s.MinDays)
	for !payment.OpenDay(at, scheme) && at.Compare(earliest) > 0 {
		at = at.AddDays(-1)
	}
	for !payment.OpenDay(at, scheme) {
		at = at.AddDays(1)
	}
	return at
}
