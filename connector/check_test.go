package connector_test

import (
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// rightProfile returns a profile without faults.
func rightProfile() connector.Profile {
	return connector.Profile{
		UUID: "11111111-1111-4111-8111-111111111111", ID: 1, Name: "Bank", Countries: []string{"FR"},
		Data: &connector.DataSettings{Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking", "checking"}},
		Payments: &payment.Settings{
			Mechanisms: []string{payment.DefaultMechanism}, Schemes: []passerelle.AccountScheme{passerelle.IBAN},
			DateTypes: []payment.DateType{payment.Instant}, Currencies: []passerelle.Currency{"EUR"}, PayerAccount: payment.PayerOptional,
		},
	}
}

// The author of a connector learns from each refusal which values are allowed.
func TestRefusedProfilesNameTheAllowedValues(t *testing.T) {
	for want, change := range map[string]func(*connector.Profile){
		`payments.schemes: "bban" must be one of iban, sort_code_account_number`:                    func(p *connector.Profile) { p.Payments.Schemes = []passerelle.AccountScheme{"bban"} },
		`payments.schemes: must have one or more of iban, sort_code_account_number`:                 func(p *connector.Profile) { p.Payments.Schemes = nil },
		`payments.schemes: a value comes twice`:                                                     func(p *connector.Profile) { p.Payments.Schemes = []passerelle.AccountScheme{"iban", "iban"} },
		`payments.date_types: "now" must be one of first_open_day, deferred, instant, periodic`:     func(p *connector.Profile) { p.Payments.DateTypes = []payment.DateType{"now"} },
		`payments.payer_account: "no" must be one of not_used, optional, mandatory`:                 func(p *connector.Profile) { p.Payments.PayerAccount = "no" },
		`payments.partial_tracking: "deferred" must be one of instant`:                              func(p *connector.Profile) { p.Payments.PartialTracking = []payment.DateType{payment.Deferred} },
		`payments.frequencies: needs the date type periodic`:                                        func(p *connector.Profile) { p.Payments.Frequencies = []payment.Frequency{"monthly"} },
		`payments.frequencies: must have one or more of daily, weekly`:                              func(p *connector.Profile) { p.Payments.DateTypes = []payment.DateType{payment.Periodic} },
		`type of the field "a b": "foo" must be one of text, list`:                                  func(p *connector.Profile) { p.PaymentFields = []payment.Field{{Name: "a b", Label: "A", Type: "foo"}} },
		`type of the field "a b": "foo" must be one of text, password, date, list, number`:          func(p *connector.Profile) { p.Data.Fields = []connector.Field{{Name: "a b", Label: "A", Type: "foo"}} },
		`data.account_types: "current" must be one of article83, capitalisation, card, cat`:         func(p *connector.Profile) { p.Data.AccountTypes = []passerelle.AccountType{"current"} },
		`data.capabilities: "accounts" must be one of bank, bankwealth, document, profile, contact`: func(p *connector.Profile) { p.Data.Capabilities = []string{"accounts"} },
		`payments.currencies: must be different codes of ISO 4217, such as EUR`:                     func(p *connector.Profile) { p.Payments.Currencies = []passerelle.Currency{"EURO"} },
	} {
		p := rightProfile()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not say: %s", err, want)
		}
	}
}

// A refused report also names the allowed values.
func TestRefusedReportsNameTheAllowedValues(t *testing.T) {
	for want, report := range map[string]payment.Report{
		`status: "pendingApproval" must be one of awaiting, processing, settled, declined`:                   {Status: "pendingApproval"},
		`action: "" must be one of redirect, decoupled, additionalInformationNeeded, confirm, psuValidation`: {Status: payment.Awaiting},
		`action: "dance" must be one of redirect, decoupled`:                                                 {Status: payment.Processing, Action: "dance"},
		`by: "nobody" must be one of client, payer, bank, service`:                                           {Status: payment.Declined, Code: payment.Bug, By: "nobody"},
		`cancellation: "perhaps" must be one of awaiting, granted, refused`:                                  {Status: payment.Processing, Cancellation: "perhaps"},
		`code: "AC01" must be one of invalidEmitter, insufficientFunds`:                                      {Status: payment.Declined, Code: "AC01"},
		`state of line 0: "" must be one of pending, rejected, done, accepted`:                               {Status: payment.Settled, Lines: []payment.Line{{}}},
	} {
		if err := connector.CheckReport(report, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not say: %s", err, want)
		}
	}
}

// Each refusal names the field of the protocol, without values in the syntax of Go.
func TestRefusedProfilesNameTheField(t *testing.T) {
	for want, change := range map[string]func(*connector.Profile){
		`uuid: "X" is not a UUID in lower case`:                func(p *connector.Profile) { p.UUID = "X" },
		`name: is missing`:                                     func(p *connector.Profile) { p.Name = "" },
		`countries: must have one or more codes of ISO 3166-1`: func(p *connector.Profile) { p.Countries = nil },
		`countries: must be codes of ISO 3166-1`:               func(p *connector.Profile) { p.Countries = []string{"UK"} },
		`sources: a source has no name`:                        func(p *connector.Profile) { p.Sources = []connector.Source{{ID: 1}} },
		`payments.max_instructions: must be 0 to 1000, not -1`: func(p *connector.Profile) { p.Payments.MaxInstructions = -1 },
		`payments.min_days: must not be more than max_days`:    func(p *connector.Profile) { p.Payments.MinDays, p.Payments.MaxDays = 2, 1 },
		`payments.minimum, payments.maximum: no amount is allowed for the date type instant`: func(p *connector.Profile) {
			p.Payments.Minimum, p.Payments.Maximum = map[payment.DateType]int64{payment.Instant: 2}, map[payment.DateType]int64{payment.Instant: 1}
		},
		`payment_fields: the field "a" must have a name and a label`:                   func(p *connector.Profile) { p.PaymentFields = []payment.Field{{Name: "a", Type: "text"}} },
		`payment_fields: the field "a" must have different values if its type is list`: func(p *connector.Profile) { p.PaymentFields = []payment.Field{{Name: "a", Label: "A", Type: "list"}} },
		`data.fields: the field "a" must have a label`:                                 func(p *connector.Profile) { p.Data.Fields = []connector.Field{{Name: "a", Type: "text"}} },
		`data.fields: the field "a" must have values if its type is list`:              func(p *connector.Profile) { p.Data.Fields = []connector.Field{{Name: "a", Label: "A", Type: "list"}} },
		`data.months_to_fetch, data.consent_days, data.unattended_reads: must not be`:  func(p *connector.Profile) { p.Data.ConsentDays = -1 },
	} {
		p := rightProfile()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "{}") {
			t.Errorf("the error %q does not say: %s", err, want)
		}
	}
}

// A client could not send the value of a field without a name, or of the second field with a name.
func TestQuestionsHaveDifferentNames(t *testing.T) {
	for want, fields := range map[string][]connector.Field{
		"fields: a field has no name":        {{Name: "otp"}, {Label: "Code"}},
		`fields: a name comes twice: ["otp"`: {{Name: "otp"}, {Name: "otp", Label: "Code"}},
	} {
		outcome := connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: fields}
		if err := outcome.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of an outcome is %v, want %s", err, want)
		}
		p := rightProfile()
		p.Data.Fields = fields
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of a profile is %v, want %s", err, want)
		}
	}
}
