package payment_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/payment"
)

func day(t testing.TB, s string) passerelle.Date {
	t.Helper()
	d, err := passerelle.ParseDate("day", s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func line() payment.Instruction {
	return payment.Instruction{
		Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Invoice 7", DateType: payment.Instant,
		Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Shop"},
	}
}

func draft(lines int) payment.Draft {
	d := payment.Draft{ClientRedirectURI: "https://client.example/back", ClientState: "s"}
	for range lines {
		d.Instructions = append(d.Instructions, line())
	}
	return d
}

func random() io.Reader { return bytes.NewReader(make([]byte, 1<<16)) }

func made(t testing.TB, lines int) *payment.Payment {
	t.Helper()
	p, _, err := payment.New(draft(lines), payment.Policy{}, random(), now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNew(t *testing.T) {
	d := draft(1)
	d.Instructions[0].ReferenceID = "REF 1"
	p, first, err := payment.New(d, payment.Policy{}, random(), now)
	if err != nil {
		t.Fatal(err)
	}
	want := payment.Transition{To: payment.Created, Cause: payment.Cause{Actor: payment.ByClient}, At: now}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	in := line()
	in.ReferenceID = "REF 1"
	wantPayment := &payment.Payment{
		State: payment.Created, Created: now, ClientRedirectURI: d.ClientRedirectURI, ClientState: "s",
		Instructions: []payment.Instruction{in},
	}
	if diff := cmp.Diff(wantPayment, p, dates); diff != "" {
		t.Error(diff)
	}
}

// dates lets cmp compare passerelle.Date values.
var dates = cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })

func TestNewAccepts(t *testing.T) {
	today, tomorrow := day(t, "2026-11-21"), day(t, "2026-11-22")
	periodic := func(d *payment.Draft) {
		d.Instructions[0].DateType, d.Instructions[0].StartDate, d.Instructions[0].Frequency = payment.Periodic, today, "monthly"
	}
	organisation := func(d *payment.Draft) {
		d.PayerIdentity = &passerelle.Identity{Kind: passerelle.Individual, OrgName: "does not apply", Sensitive: &passerelle.Sensitive{FirstName: "A", LastName: "B"}}
	}
	tests := map[string]struct {
		lines  int
		policy payment.Policy
		change func(*payment.Draft)
	}{
		"next open day": {1, payment.Policy{}, func(d *payment.Draft) { d.Instructions[0].DateType = payment.FirstOpenDay }},
		"deferred to this very day": {1, payment.Policy{}, func(d *payment.Draft) {
			d.Instructions[0].DateType, d.Instructions[0].ExecutionDate = payment.Deferred, today
		}},
		"deferred": {1, payment.Policy{}, func(d *payment.Draft) {
			d.Instructions[0].DateType, d.Instructions[0].ExecutionDate = payment.Deferred, tomorrow
		}},
		"periodic without an end":    {1, payment.Policy{Periodic: true}, periodic},
		"periodic for one day":       {1, payment.Policy{Periodic: true}, func(d *payment.Draft) { periodic(d); d.Instructions[0].EndDate = today }},
		"largest bulk":               {payment.MaxInstructions, payment.Policy{}, func(*payment.Draft) {}},
		"longest label":              {1, payment.Policy{}, func(d *payment.Draft) { d.Instructions[0].Label = strings.Repeat("é", payment.MaxLabel) }},
		"longest state":              {1, payment.Policy{}, func(d *payment.Draft) { d.ClientState = strings.Repeat("é", payment.MaxClientState) }},
		"largest amount":             {1, payment.Policy{}, func(d *payment.Draft) { d.Instructions[0].Amount.Minor = 99_999_999_999 }},
		"exactly the limit":          {2, payment.Policy{MaxAmount: "25"}, func(*payment.Draft) {}},
		"no limit":                   {2, payment.Policy{MaxAmount: "0"}, func(*payment.Draft) {}},
		"a limit beyond every sum":   {2, payment.Policy{MaxAmount: "999999999999999999"}, func(*payment.Draft) {}},
		"a payer":                    {1, payment.Policy{}, func(d *payment.Draft) { a := line().Beneficiary; d.Payer = &a }},
		"dropped fields of identity": {1, payment.Policy{}, organisation},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := draft(test.lines)
			test.change(&d)
			p, _, err := payment.New(d, test.policy, random(), now)
			if err != nil {
				t.Fatal(err)
			}
			if p.PayerIdentity != nil && p.PayerIdentity.OrgName != "" {
				t.Error("a field that does not apply is kept")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	today, yesterday, tomorrow := day(t, "2026-11-21"), day(t, "2026-11-20"), day(t, "2026-11-22")
	first := func(change func(*payment.Instruction)) func(*payment.Draft) {
		return func(d *payment.Draft) { change(&d.Instructions[0]) }
	}
	second := func(change func(*payment.Instruction)) func(*payment.Draft) {
		return func(d *payment.Draft) {
			d.Instructions = append(d.Instructions, line())
			change(&d.Instructions[1])
		}
	}
	periodic := func(change func(*payment.Instruction)) func(*payment.Draft) {
		return first(func(in *payment.Instruction) {
			in.DateType, in.StartDate, in.Frequency = payment.Periodic, today, "monthly"
			change(in)
		})
	}
	on := payment.Policy{Periodic: true}
	tests := map[string]struct {
		policy payment.Policy
		change func(*payment.Draft)
		field  string
		code   string
		begins string
	}{
		"no redirect":              {change: func(d *payment.Draft) { d.ClientRedirectURI = "" }, field: "client_redirect_uri", code: "missingParameter", begins: "the absolute http(s) URL"},
		"redirect with a query":    {change: func(d *payment.Draft) { d.ClientRedirectURI += "?a=b" }, field: "client_redirect_uri", begins: "must have no query"},
		"state too long":           {change: func(d *payment.Draft) { d.ClientState = strings.Repeat("x", 2001) }, field: "client_state", begins: "must have at most 2000"},
		"no instruction":           {change: func(d *payment.Draft) { d.Instructions = nil }, field: "instructions", code: "missingParameter", begins: "at least one"},
		"too many instructions":    {change: func(d *payment.Draft) { d.Instructions = draft(1001).Instructions }, field: "instructions", begins: "at most 1000 instructions are allowed, not 1001"},
		"payer without a number":   {change: func(d *payment.Draft) { d.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Label: "x"} }, field: "payer.identification", code: "missingParameter", begins: "is required"},
		"payer's kind":             {change: func(d *payment.Draft) { d.PayerIdentity = &passerelle.Identity{Kind: "robot"} }, field: "payer_identity.kind", begins: "must be one of"},
		"operator without a name":  {change: func(d *payment.Draft) { d.OperatorIdentity = &passerelle.Identity{} }, field: "operator_identity.first_name", code: "missingParameter", begins: "is required for kind individual"},
		"beneficiary without name": {change: first(func(in *payment.Instruction) { in.BeneficiaryIdentity = &passerelle.Identity{} }), field: "instructions[0].beneficiary_identity.first_name", code: "missingParameter", begins: "is required"},
		"field of another kind": {policy: payment.Policy{Strict: true}, change: func(d *payment.Draft) {
			d.PayerIdentity = &passerelle.Identity{OrgName: "x", Sensitive: &passerelle.Sensitive{FirstName: "A", LastName: "B"}}
		}, field: "payer_identity.org_name", begins: "does not apply to kind individual"},
		"periodic is off": {change: periodic(func(*payment.Instruction) {}), field: "instructions[0].execution_date_type", begins: "periodic payments are not enabled"},
		"periodic bulk": {policy: on, change: func(d *payment.Draft) {
			d.Instructions = append(d.Instructions, line())
			d.Instructions[0].DateType = payment.Periodic
		}, field: "instructions", begins: "a periodic payment has exactly one instruction, not 2"},
		"two currencies":            {change: second(func(in *payment.Instruction) { in.Amount.Currency = "USD" }), field: "instructions[1].currency", begins: "all instructions of a payment must have the same currency, here EUR"},
		"two types":                 {change: second(func(in *payment.Instruction) { in.DateType = payment.FirstOpenDay }), field: "instructions[1].execution_date_type", begins: "all instructions of a payment must have the same type, here instant"},
		"two days":                  {change: second(func(in *payment.Instruction) { in.ExecutionDate = tomorrow }), field: "instructions[1].execution_date", begins: "all instructions of a payment must have the same date"},
		"no label":                  {change: first(func(in *payment.Instruction) { in.Label = "" }), field: "instructions[0].label", code: "missingParameter", begins: "a label is required"},
		"blank label":               {change: first(func(in *payment.Instruction) { in.Label = " \t" }), field: "instructions[0].label", code: "missingParameter", begins: "a label is required"},
		"label too long":            {change: first(func(in *payment.Instruction) { in.Label = strings.Repeat("x", 141) }), field: "instructions[0].label", begins: "must have at most 140"},
		"label with NUL":            {change: second(func(in *payment.Instruction) { in.Label = "\x00" }), field: "instructions[1].label", begins: "must not contain a NUL"},
		"no currency":               {change: first(func(in *payment.Instruction) { in.Amount.Currency = "" }), field: "instructions[0].currency", begins: "must be an ISO 4217"},
		"amount of zero":            {change: first(func(in *payment.Instruction) { in.Amount.Minor = 0 }), field: "instructions[0].amount", begins: "must be positive"},
		"amount below zero":         {change: first(func(in *payment.Instruction) { in.Amount.Minor = -1 }), field: "instructions[0].amount", begins: "must be positive"},
		"amount too large":          {change: first(func(in *payment.Instruction) { in.Amount.Minor = 100_000_000_000 }), field: "instructions[0].amount", begins: "must be at most 999999999.99"},
		"reference too long":        {change: first(func(in *payment.Instruction) { in.ReferenceID = strings.Repeat("x", 32) }), field: "instructions[0].reference_id", begins: "must have at most 31"},
		"reference outside of SEPA": {change: first(func(in *payment.Instruction) { in.ReferenceID = "é" }), field: "instructions[0].reference_id", begins: "may only contain"},
		"wrong IBAN":                {change: first(func(in *payment.Instruction) { in.Beneficiary.Identification = "FR7630006000011234567890188" }), field: "instructions[0].beneficiary.identification", begins: "the check digits do not match"},
		"no type":                   {change: first(func(in *payment.Instruction) { in.DateType = "" }), field: "instructions[0].execution_date_type", code: "missingParameter", begins: "one of first_open_day"},
		"unknown type":              {change: first(func(in *payment.Instruction) { in.DateType = "someday" }), field: "instructions[0].execution_date_type", begins: "must be one of [first_open_day"},
		"day without deferral":      {change: first(func(in *payment.Instruction) { in.ExecutionDate = tomorrow }), field: "instructions[0].execution_date", begins: "is only for a deferred instruction"},
		"start without repetition":  {change: first(func(in *payment.Instruction) { in.StartDate = tomorrow }), field: "instructions[0].start_date", begins: "is only for a periodic"},
		"end without repetition":    {change: first(func(in *payment.Instruction) { in.EndDate = tomorrow }), field: "instructions[0].end_date", begins: "is only for a periodic"},
		"frequency by itself":       {change: first(func(in *payment.Instruction) { in.Frequency = "daily" }), field: "instructions[0].frequency", begins: "is only for a periodic"},
		"deferred to no day":        {change: first(func(in *payment.Instruction) { in.DateType = payment.Deferred }), field: "instructions[0].execution_date", code: "missingParameter", begins: "a deferred payment needs"},
		"deferred to the past":      {change: first(func(in *payment.Instruction) { in.DateType, in.ExecutionDate = payment.Deferred, yesterday }), field: "instructions[0].execution_date", begins: "must be today (2026-11-21) or later"},
		"periodic on a day":         {policy: on, change: periodic(func(in *payment.Instruction) { in.ExecutionDate = tomorrow }), field: "instructions[0].execution_date", begins: "is only for a deferred"},
		"no start":                  {policy: on, change: periodic(func(in *payment.Instruction) { in.StartDate = passerelle.Date{} }), field: "instructions[0].start_date", code: "missingParameter", begins: "a periodic payment needs a start"},
		"start in the past":         {policy: on, change: periodic(func(in *payment.Instruction) { in.StartDate = yesterday }), field: "instructions[0].start_date", begins: "must be today"},
		"no frequency":              {policy: on, change: periodic(func(in *payment.Instruction) { in.Frequency = "" }), field: "instructions[0].frequency", code: "missingParameter", begins: "a periodic payment needs a frequency"},
		"unknown frequency":         {policy: on, change: periodic(func(in *payment.Instruction) { in.Frequency = "hourly" }), field: "instructions[0].frequency", begins: "must be one of [daily"},
		"end before the start":      {policy: on, change: periodic(func(in *payment.Instruction) { in.StartDate, in.EndDate = tomorrow, today }), field: "instructions[0].end_date", begins: "must not be before start_date"},
		"sum above the limit":       {policy: payment.Policy{MaxAmount: "24.99"}, change: second(func(*payment.Instruction) {}), field: "instructions", begins: "the total 25.00 EUR is above the limit of 24.99 per payment"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := draft(1)
			test.change(&d)
			p, _, err := payment.New(d, test.policy, random(), now)
			var refusal *passerelle.Error
			if !errors.As(err, &refusal) {
				t.Fatalf("payment %v, error %v", p, err)
			}
			if test.code == "" {
				test.code = "invalidValue"
			}
			if refusal.Kind != passerelle.Invalid || refusal.Code != test.code || refusal.Field != test.field {
				t.Errorf("%s %s on %s, want %s on %s", refusal.Kind, refusal.Code, refusal.Field, test.code, test.field)
			}
			if !strings.HasPrefix(refusal.Message, test.field+": "+test.begins) {
				t.Errorf("message %q", refusal.Message)
			}
		})
	}
}

func TestGeneratedReferences(t *testing.T) {
	d := draft(3)
	d.Instructions[1].ReferenceID = "MINE"
	d.Instructions[2].Beneficiary = passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911", Label: "Shop"}
	p, _, err := payment.New(d, payment.Policy{}, random(), now)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range p.Instructions {
		got = append(got, in.ReferenceID)
	}
	want := []string{strings.Repeat("0", 29) + "-1", "MINE", strings.Repeat("0", 16) + "-3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReferencesNeedRandomness(t *testing.T) {
	broken := errors.New("no more randomness")
	if _, _, err := payment.New(draft(1), payment.Policy{}, iotest.ErrReader(broken), now); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}
