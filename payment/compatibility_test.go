package payment_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/payment"
)

func open() payment.Settings {
	return payment.Settings{
		Schemes: []passerelle.AccountScheme{passerelle.IBAN, passerelle.SortCode}, DateTypes: payment.DateTypes(),
		Frequencies: payment.Frequencies(), Currencies: []passerelle.Currency{"EUR"}, PayerAccount: payment.PayerOptional,
	}
}

func TestIncompatibilities(t *testing.T) {
	instant := map[payment.DateType]int64{payment.Instant: 2600}
	deferred := func(d string) func(*payment.Draft) {
		return func(p *payment.Draft) {
			for i := range p.Instructions {
				p.Instructions[i].DateType, p.Instructions[i].ExecutionDate = payment.Deferred, day(t, d)
			}
		}
	}
	periodic := func(d *payment.Draft) {
		d.Instructions = d.Instructions[:1]
		d.Instructions[0].DateType, d.Instructions[0].StartDate, d.Instructions[0].Frequency = payment.Periodic, day(t, "2026-11-24"), "weekly"
	}
	openDays := func(s *payment.Settings) { s.OpenDaysOnly = true }
	supplied := func(d *payment.Draft) { account := line().Beneficiary; d.Payer = &account }
	ours := func(d *payment.Draft) {
		d.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Anna"}
	}
	tests := map[string]struct {
		change func(*payment.Settings)
		draft  func(*payment.Draft)
		want   *payment.Reason
	}{
		"none":                    {change: func(*payment.Settings) {}},
		"several of some types":   {func(s *payment.Settings) { s.BulkDateTypes = []payment.DateType{payment.Periodic} }, nil, &payment.Reason{Code: "nspBulk", ConnectorValue: 1, PaymentValue: 2}},
		"several of this type":    {func(s *payment.Settings) { s.BulkDateTypes = payment.DateTypes() }, nil, nil},
		"one at a time":           {func(s *payment.Settings) { s.MaxInstructions = 1 }, nil, &payment.Reason{Code: "nspBulk", ConnectorValue: 1, PaymentValue: 2}},
		"fewer at a time":         {func(s *payment.Settings) { s.MaxInstructions = 3 }, func(d *payment.Draft) { d.Instructions = draft(4).Instructions }, &payment.Reason{Code: "maxBulk", ConnectorValue: 3, PaymentValue: 4}},
		"as many at a time":       {func(s *payment.Settings) { s.MaxInstructions = 2 }, nil, nil},
		"type":                    {func(s *payment.Settings) { s.DateTypes = []payment.DateType{payment.Deferred} }, nil, &payment.Reason{Code: "nspDateType", ConnectorValue: []payment.DateType{payment.Deferred}, PaymentValue: payment.Instant}},
		"no frequency":            {func(s *payment.Settings) { s.Frequencies = nil }, periodic, &payment.Reason{Code: "nspFrequency", ConnectorValue: []payment.Frequency(nil), PaymentValue: payment.Frequency("weekly")}},
		"no frequency, no series": {func(s *payment.Settings) { s.Frequencies = nil }, nil, nil},
		"scheme": {func(s *payment.Settings) { s.Schemes = s.Schemes[:1] }, func(d *payment.Draft) {
			d.Instructions[1].Beneficiary = passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911", Label: "Shop"}
		}, &payment.Reason{Code: "nspBenefScheme", ConnectorValue: []passerelle.AccountScheme{passerelle.IBAN}, PaymentValue: passerelle.SortCode}},
		"currency":               {func(s *payment.Settings) { s.Currencies = []passerelle.Currency{"GBP"} }, nil, &payment.Reason{Code: "nspCurrency", ConnectorValue: []passerelle.Currency{"GBP"}, PaymentValue: passerelle.Currency("EUR")}},
		"payer":                  {func(s *payment.Settings) { s.PayerAccount = payment.PayerNotUsed }, supplied, &payment.Reason{Code: "nspPayer", ConnectorValue: payment.PayerNotUsed, PaymentValue: true}},
		"payer of another bank":  {func(s *payment.Settings) { s.Accounts.IBANs = []string{"DE", "FR..30007"} }, supplied, &payment.Reason{Code: "nspPayer", ConnectorValue: []string{"DE", "FR..30007"}, PaymentValue: true}},
		"payer of the bank":      {func(s *payment.Settings) { s.Accounts.IBANs = []string{"DE", "FR..30006"} }, ours, nil},
		"payer not yet known":    {func(s *payment.Settings) { s.Accounts.IBANs = []string{"DE"} }, nil, nil},
		"no payer":               {func(s *payment.Settings) { s.PayerAccount = payment.PayerNotUsed }, nil, nil},
		"payer comes later":      {func(s *payment.Settings) { s.PayerAccount = payment.PayerMandatory }, nil, nil},
		"below the minimum":      {func(s *payment.Settings) { s.Minimum = instant }, nil, &payment.Reason{Code: "minAmount", ConnectorValue: json.Number("26.00"), PaymentValue: json.Number("25.00")}},
		"minimum of other types": {func(s *payment.Settings) { s.Minimum = instant }, deferred("2026-12-01"), nil},
		"above the maximum":      {func(s *payment.Settings) { s.Maximum = map[payment.DateType]int64{payment.Instant: 2499} }, nil, &payment.Reason{Code: "maxAmount", Severity: payment.Warning, ConnectorValue: json.Number("24.99"), PaymentValue: json.Number("25.00")}},
		"at both bounds": {func(s *payment.Settings) {
			s.Minimum = map[payment.DateType]int64{payment.Instant: 2500}
			s.Maximum = s.Minimum
		}, nil, nil},
		"too soon":              {func(s *payment.Settings) { s.MinDays = 4 }, deferred("2026-11-24"), &payment.Reason{Code: "minDateDelta", ConnectorValue: 4, PaymentValue: 3}},
		"series too soon":       {func(s *payment.Settings) { s.MinDays = 4 }, periodic, &payment.Reason{Code: "minDateDelta", ConnectorValue: 4, PaymentValue: 3}},
		"near enough":           {func(s *payment.Settings) { s.MinDays = 3; s.MaxDays = 3 }, deferred("2026-11-24"), nil},
		"too far":               {func(s *payment.Settings) { s.MaxDays = 30 }, deferred("9999-12-31"), &payment.Reason{Code: "maxDateDelta", ConnectorValue: 30, PaymentValue: 2912118}},
		"no day to be too soon": {func(s *payment.Settings) { s.MinDays = 4 }, nil, nil},
		"closed day":            {openDays, deferred("2026-12-25"), &payment.Reason{Code: "nspExecDate", ConnectorValue: "2026-12-28", PaymentValue: "2026-12-25"}},
		"closed to one line": {openDays, func(d *payment.Draft) {
			deferred("2027-05-03")(d)
			d.Instructions[1].Beneficiary = passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911", Label: "Shop"}
		}, &payment.Reason{Code: "nspExecDate", ConnectorValue: "2027-05-04", PaymentValue: "2027-05-03"}},
		"open day": {openDays, deferred("2026-12-24"), nil},
		"series from a closed day": {openDays, func(d *payment.Draft) {
			periodic(d)
			d.Instructions[0].StartDate = day(t, "2026-11-22")
		}, &payment.Reason{Code: "nspExecDate", ConnectorValue: "2026-11-23", PaymentValue: "2026-11-22"}},
		"no day to be closed": {openDays, nil, nil},
		"trusted beneficiary": {func(s *payment.Settings) { s.TrustedBeneficiary = []payment.DateType{payment.Instant} }, nil, &payment.Reason{Code: "trustBenef", Severity: payment.Warning, ConnectorValue: []payment.DateType{payment.Instant}, PaymentValue: payment.Instant}},
	}
	codes := map[string]bool{}
	for name, test := range tests {
		if test.want != nil {
			codes[test.want.Code] = true
		}
		t.Run(name, func(t *testing.T) {
			s, d := open(), draft(2)
			test.change(&s)
			if test.draft != nil {
				test.draft(&d)
			}
			p, _, err := payment.New(d, payment.Policy{Periodic: true}, random(), now)
			if err != nil {
				t.Fatal(err)
			}
			wantReasons(t, p.Incompatibilities(s, now), test.want)
		})
	}
	if listed := slices.Sorted(slices.Values(payment.IncompatibilityCodes())); !slices.Equal(listed, slices.Sorted(maps.Keys(codes))) {
		t.Errorf("IncompatibilityCodes in payment/compatibility.go lists %q, the cases in payment/compatibility_test.go have %q", listed, slices.Sorted(maps.Keys(codes)))
	}
}

// TestPassedDays checks that no connector accepts a payment after the day that the payment names.
func TestPassedDays(t *testing.T) {
	named := day(t, "2026-11-24")
	for _, change := range []func(*payment.Instruction){
		func(in *payment.Instruction) { in.DateType, in.ExecutionDate = payment.Deferred, named },
		func(in *payment.Instruction) {
			in.DateType, in.StartDate, in.Frequency = payment.Periodic, named, "weekly"
		},
	} {
		d := draft(1)
		change(&d.Instructions[0])
		p, _, err := payment.New(d, payment.Policy{Periodic: true}, random(), now)
		if err != nil {
			t.Fatal(err)
		}
		midnight := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
		wantReasons(t, p.Incompatibilities(open(), midnight.Add(-time.Nanosecond)), nil)
		wantReasons(t, p.Incompatibilities(open(), midnight), &payment.Reason{Code: "minDateDelta", ConnectorValue: 0, PaymentValue: -1})
	}
}

// wantReasons expects exactly one reason, or no reason when want is nil.
func wantReasons(t *testing.T, got []payment.Reason, want *payment.Reason) {
	t.Helper()
	if want == nil {
		if len(got) > 0 || !payment.Eligible(got) {
			t.Errorf("reasons %+v", got)
		}
		return
	}
	if len(got) != 1 || got[0].Description == "" {
		t.Fatalf("reasons %+v, want %s", got, want.Code)
	}
	if want.Severity == "" {
		want.Severity = payment.Incompatible
	}
	want.Description = got[0].Description
	if want.PaymentValue == nil {
		want.PaymentValue = got[0].PaymentValue
	}
	if diff := cmp.Diff(*want, got[0]); diff != "" {
		t.Error(diff)
	}
	if payment.Eligible(got) != (want.Severity == payment.Warning) {
		t.Errorf("eligible with %+v: %v", got, payment.Eligible(got))
	}
}

func TestAllReasonsAreListed(t *testing.T) {
	p := made(t, 2)
	var codes []string
	for _, reason := range p.Incompatibilities(payment.Settings{MaxInstructions: 1}, now) {
		codes = append(codes, reason.Code)
	}
	if diff := cmp.Diff([]string{"nspBulk", "nspDateType", "nspBenefScheme", "nspCurrency"}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	lists := map[string][]string{
		"states": payment.State("").Values(), "details": payment.Detail("").Values(), "actions": payment.Action("").Values(),
		"codes": payment.ErrorCode("").Values(), "types": payment.DateType("").Values(),
		"frequencies": payment.Frequency("").Values(), "lines": payment.InstructionState("").Values(),
		"incompatibilities": payment.IncompatibilityCodes(), "notes": payment.NoteKinds(),
	}
	counts := map[string]int{"states": 8, "details": 1, "actions": 5, "codes": 19, "types": 4, "frequencies": 9, "lines": 4, "incompatibilities": 13, "notes": 12}
	for name, list := range lists {
		seen := map[string]bool{}
		for _, word := range list {
			seen[word] = true
		}
		if len(seen) != counts[name] || seen[""] {
			t.Errorf("%s are %q, want %d different ones: change the number in payment/compatibility_test.go for a new one", name, list, counts[name])
		}
	}
}
