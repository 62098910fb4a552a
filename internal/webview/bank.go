package webview

import (
	"slices"
	"strings"
	"unicode/utf8"

	"passerelle"
	"passerelle/payment"
)

// bank is a connector as a payer sees it.
type bank struct {
	UUID, Name string
	// Initial stands in for a logo.
	Initial string
	// Countries are where it is, and Place is the name of the country for banks
	// that are in only one.
	Countries []string
	Place     string
	// Recent marks banks that were paid with before in this browser, Hidden those that the
	// search left out, and Proposed the one that is selected at first.
	Recent, Hidden, Proposed bool
	// Disturbed is one that has failed several times in a row.
	Disturbed bool
	// Fields are what the payer has to fill in before the order can be sent.
	Fields []payment.Field
	// Account is set when the payer has to say which account to pay from, and
	// is then the way in which the bank wants it identified.
	Account passerelle.AccountScheme
}

// Asks reports whether the bank needs to know more than that it was chosen.
func (b bank) Asks() bool { return len(b.Fields) > 0 || b.Account != "" }

// banks lists the banks that can carry the payment. A bank that was chosen before comes
// first, and may be one that is not offered to everybody.
func (w *Webview) banks(pc *pageContext, p *payment.Payment) ([]bank, string, error) {
	var (
		all    []bank
		chosen string
	)
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
	for _, profile := range profiles {
		if _, listed := find(all, profile.UUID); listed {
			continue
		}
		b := bank{
			UUID: profile.UUID, Name: profile.Name, Initial: initial(profile.Name), Countries: profile.Countries,
			Account: accountAsked(p, profile.Payments), Disturbed: profile.Disturbed,
		}
		if len(profile.Countries) == 1 {
			b.Place = pc.countryName(profile.Countries[0])
		}
		b.Fields = required(profile.PaymentFields)
		all = append(all, b)
	}
	return all, chosen, nil
}

func required(fields []payment.Field) []payment.Field {
	var needed []payment.Field
	for _, field := range fields {
		if field.Required {
			needed = append(needed, field)
		}
	}
	return needed
}

func initial(name string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	return strings.ToUpper(string(first))
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

// bankName is the name of the bank that was chosen, empty when it is one that
// this program no longer has.
func (w *Webview) bankName(p *payment.Payment) string {
	c, known := w.Initiation.Connectors.Initiator(p.Connector)
	if !known {
		return ""
	}
	return c.Profile().Name
}

// settings are what the bank that was chosen can do, or nil.
func (w *Webview) settings(p *payment.Payment) *payment.Settings {
	c, known := w.Initiation.Connectors.Initiator(p.Connector)
	if !known {
		return nil
	}
	return c.Profile().Payments
}
