package webview

import (
	"cmp"
	"net/url"
	"slices"

	"passerelle"
	"passerelle/internal/webview/chooser"
	"passerelle/payment"
)

// bank is a connector, with the data that payment pages show.
type bank struct {
	chooser.Institution
	// Fields lists the fields that the payer must fill in before the service can send the order.
	Fields []payment.Field
	// Payers is set when the payer's account is at this bank.
	Payers bool
	// Account is the scheme of the account number that the payer must enter. It is empty when the
	// payer enters no number.
	Account passerelle.AccountScheme
}

// banks lists the banks that can make the payment. It also returns the chosen bank: an earlier
// choice, or the bank of the payer's account. The list contains an earlier choice even if that bank
// is hidden.
func (w *Webview) banks(pc *pageContext, p *payment.Payment) ([]bank, string, error) {
	chosen := ""
	profiles, err := w.Initiation.Offered(pc.context(), pc.domain, p)
	if err != nil {
		return nil, "", err
	}
	profile, ok, err := w.Initiation.Chosen(pc.context(), pc.domain, p)
	if err != nil {
		return nil, "", err
	}
	if ok {
		chosen, profiles = profile.UUID, slices.Insert(profiles, 0, profile)
	}
	all := make([]bank, 0, len(profiles))
	listed := map[string]bool{}
	for i := range profiles {
		profile := &profiles[i]
		if listed[profile.UUID] {
			continue
		}
		listed[profile.UUID] = true
		all = append(all, bank{
			Institution: chooser.Institution{
				UUID: profile.UUID, Name: profile.Name, Mark: w.markOf(profile.UUID, profile.Name), Countries: profile.Countries,
				Address: pc.address(p.ID) + "&bank=" + url.QueryEscape(profile.UUID), Disturbed: profile.Disturbed, Apart: profile.Peculiar,
			},
			Fields: required(profile.PaymentFields), Account: accountAsked(p, profile.Payments), Payers: holdsPayer(p, profile.Payments),
		})
	}
	return all, cmp.Or(chosen, bankOfPayer(all)), nil
}

// bankOfPayer returns the bank of the payer's account. It returns an empty text unless exactly one
// bank holds the account.
func bankOfPayer(all []bank) string {
	var own []string
	for _, b := range all {
		if b.Payers {
			own = append(own, b.UUID)
		}
	}
	if len(own) != 1 {
		return ""
	}
	return own[0]
}

// holdsPayer reports whether a bank holds the account that the client named as the payer's account.
func holdsPayer(p *payment.Payment, settings *payment.Settings) bool {
	if p.Payer == nil {
		return false
	}
	at, _ := settings.Accounts.Contain(*p.Payer)
	return at
}

func required(fields []payment.Field) []payment.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f payment.Field) bool { return !f.Required })
}

// entries converts banks to list entries.
func entries(banks []bank) []chooser.Institution {
	all := make([]chooser.Institution, len(banks))
	for i, b := range banks {
		all[i] = b.Institution
	}
	return all
}

func accountAsked(p *payment.Payment, settings *payment.Settings) passerelle.AccountScheme {
	if p.Payer != nil || settings.PayerAccount != payment.PayerMandatory {
		return ""
	}
	if slices.Contains(settings.Schemes, passerelle.IBAN) {
		return passerelle.IBAN
	}
	return passerelle.SortCode
}

func find(all []bank, uuid string) (bank, bool) {
	i := slices.IndexFunc(all, func(b bank) bool { return b.UUID == uuid })
	if i < 0 {
		return bank{}, false
	}
	return all[i], true
}

// bankName returns the name of the chosen bank. It returns an empty text when no bank is chosen, or
// when the bank's connector is no longer installed.
func (w *Webview) bankName(p *payment.Payment) string {
	c, known := w.Initiation.Connectors.Initiator(p.Connector)
	if !known {
		return ""
	}
	return c.Profile().Name
}

// settings returns the settings of the chosen bank. It returns nil when no bank is chosen, or when
// the bank's connector is no longer installed.
func (w *Webview) settings(p *payment.Payment) *payment.Settings {
	c, known := w.Initiation.Connectors.Initiator(p.Connector)
	if !known {
		return nil
	}
	return c.Profile().Payments
}
