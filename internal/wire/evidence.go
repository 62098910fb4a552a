package wire

import (
	"time"

	"passerelle"
	"passerelle/payment"
)

// Evidence is the content of the page that the payer saw when acting.
type Evidence struct {
	Act           payment.Act    `json:"act" doc:"what the payer did: order (ordered the payment), fields (answered the bank's questions), agree or refuse (answered the bank's request for confirmation), or cancel"`
	Date          string         `json:"date" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone"`
	Language      string         `json:"language" doc:"language of the page and of the texts below"`
	Application   string         `json:"application" doc:"application that the page named as requesting the payment"`
	Bank          string         `json:"bank"`
	Amount        string         `json:"amount"`
	Execution     string         `json:"execution" doc:"execution date as shown on the page"`
	Payer         *string        `json:"payer" doc:"the payer's account as shown on the page, mostly masked"`
	TermsVersion  *string        `json:"terms_version" doc:"version of the terms of service on the page"`
	Beneficiaries []EvidenceLine `json:"beneficiaries"`
}

// EvidenceLine is one beneficiary as the payer saw it.
type EvidenceLine struct {
	Name    string `json:"name"`
	Account string `json:"account"`
	Label   string `json:"label"`
	Amount  string `json:"amount"`
}

// NewEvidence renders the evidence of one act.
func NewEvidence(e payment.Evidence, zone *time.Location) Evidence {
	out := Evidence{
		Act: e.Act, Date: passerelle.FormatDateTime(e.At, zone), Language: e.Language, Application: e.Shown.Application, Bank: e.Shown.Bank,
		Amount: e.Shown.Amount, Execution: e.Shown.When, Payer: optional(e.Shown.From), TermsVersion: optional(e.Shown.Terms),
		Beneficiaries: make([]EvidenceLine, len(e.Shown.Lines)),
	}
	for i, line := range e.Shown.Lines {
		out.Beneficiaries[i] = EvidenceLine{Name: line.Name, Account: line.Account, Label: line.Label, Amount: line.Amount}
	}
	return out
}
