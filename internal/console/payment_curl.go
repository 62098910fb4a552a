package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// creation is the body of a request that creates a payment.
type creation struct {
	RedirectURI   string         `json:"client_redirect_uri"`
	State         string         `json:"client_state,omitempty"`
	Instructions  []createdLine  `json:"instructions"`
	Payer         *createdParty  `json:"payer,omitempty"`
	PayerIdentity map[string]any `json:"payer_identity,omitempty"`
}

type createdLine struct {
	Reference   string              `json:"reference_id"`
	Amount      json.Number         `json:"amount"`
	Currency    passerelle.Currency `json:"currency"`
	Label       string              `json:"label"`
	DateType    payment.DateType    `json:"execution_date_type"`
	Execution   *string             `json:"execution_date,omitempty"`
	Start       *string             `json:"start_date,omitempty"`
	End         *string             `json:"end_date,omitempty"`
	Frequency   *payment.Frequency  `json:"frequency,omitempty"`
	Beneficiary createdParty        `json:"beneficiary"`
	Identity    map[string]any      `json:"beneficiary_identity,omitempty"`
}

type createdParty struct {
	Scheme passerelle.AccountScheme `json:"scheme_name"`
	Number string                   `json:"identification"`
	Label  string                   `json:"label"`
	Issuer string                   `json:"issuer,omitempty"`
}

// curl returns a shell command that would create the same payment. The token is a variable. The
// command hides the same data as the page. It omits operator_identity, because no page shows this
// field.
func (c *Console) curl(pc *page.Context, p *payment.Payment, revealed bool) (string, error) {
	shown := wire.NewPayment(p, wire.View{Location: pc.Zone, Sensitive: revealed, ConnectorID: c.Initiation.ConnectorID})
	body := creation{RedirectURI: p.ClientRedirectURI, State: nameText(pc, p.ClientState, revealed), PayerIdentity: withoutNulls(shown.PayerIdentity)}
	if p.Payer != nil {
		party := party(pc, *p.Payer, revealed)
		body.Payer = &party
	}
	for i, in := range shown.Instructions {
		body.Instructions = append(body.Instructions, createdLine{
			Reference: in.ReferenceID, Amount: in.Amount, Currency: in.Currency.ID, Label: nameText(pc, in.Label, revealed), DateType: in.ExecutionDateType,
			Execution: in.ExecutionDate, Start: in.StartDate, End: in.EndDate, Frequency: in.Frequency,
			Beneficiary: party(pc, p.Instructions[i].Beneficiary, revealed), Identity: withoutNulls(in.BeneficiaryIdentity),
		})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(body); err != nil {
		return "", fmt.Errorf("write payment %d as a request: %w", p.ID, err)
	}
	return fmt.Sprintf("curl --request POST %s \\\n  --header \"Authorization: Bearer $TOKEN\" \\\n  --header 'Content-Type: application/json' \\\n  --data %s",
		quoted(pc.Domain.BaseURL+"/payments"), quoted(strings.TrimSpace(text.String()))), nil
}

// curlRead returns a shell command that reads the payment. The token is a variable.
func curlRead(pc *page.Context, p *payment.Payment) string {
	return fmt.Sprintf("curl %s \\\n  --header \"Authorization: Bearer $TOKEN\"", quoted(fmt.Sprintf("%s/payments/%d", pc.Domain.BaseURL, p.ID)))
}

func party(pc *page.Context, a passerelle.Account, revealed bool) createdParty {
	return createdParty{Scheme: a.Scheme, Number: accountText(a, revealed), Label: nameText(pc, a.Label, revealed), Issuer: a.Issuer}
}

// withoutNulls returns the members of an identity that are neither null nor false.
func withoutNulls(identity *wire.Identity) map[string]any {
	if identity == nil {
		return nil
	}
	kept := map[string]any{}
	if err := json.Unmarshal(wire.Encode(identity), &kept); err != nil {
		return nil // cannot fail: the service has just encoded it
	}
	for name, value := range kept {
		if value == nil || value == false {
			delete(kept, name)
		}
	}
	return kept
}

// quoted returns a text in quotes, as one word for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
