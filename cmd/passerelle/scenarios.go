package main

import (
	"fmt"
	"io"
	"strings"

	"passerelle/connector/sandbox"
	"passerelle/payment"
)

type scenariosCommand struct{}

// Run prints what the sandbox can be made to do: as JSON whole, for people as
// the page of the documentation.
func (scenariosCommand) Run(c *console) error {
	if c.json {
		return c.show(struct {
			Scenarios []sandbox.Scenario `json:"scenarios"`
			Logins    []sandbox.Login    `json:"logins"`
		}{sandbox.Scenarios(), sandbox.Logins()})
	}
	return writeScenarios(c.out)
}

// writeScenarios writes the catalogue as a page, a row each.
func writeScenarios(w io.Writer) error {
	var page strings.Builder
	page.WriteString(scenariosHead)
	names := map[string]string{}
	for _, c := range (&sandbox.Bank{}).Connectors() {
		names[c.Profile().UUID] = c.Profile().Name
	}
	for _, s := range sandbox.Scenarios() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Shows, names[s.Connector], inRow(steering(s)), inRow(ending(s.Ends)))
	}
	page.WriteString(loginsHead)
	for _, l := range sandbox.Logins() {
		word := "any other"
		if l.Word != "" {
			word = "`" + l.Word + "`"
		}
		fmt.Fprintf(&page, "| %s | %s |\n", word, inRow(l.Shows))
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// inRow keeps what is written in a row from ending it.
func inRow(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// steering is what makes the bank do it: amount and label of the first line,
// and the use case, if one is given.
func steering(s sandbox.Scenario) string {
	parts := []string{s.Lines[0].Amount + " " + string(s.Lines[0].Currency), "`" + s.Lines[0].Label + "`"}
	if more := len(s.Lines) - 1; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	for _, move := range s.Moves {
		if useCase := move.Fields["use_case_pay"]; useCase != "" {
			parts = append(parts, "use case "+useCase)
		}
	}
	return strings.Join(parts, ", ")
}

// ending is where the payment goes, and why.
func ending(o sandbox.Outcome) string {
	states := make([]string, len(o.States))
	for i, state := range o.States {
		states[i] = string(state)
	}
	text := strings.Join(states, " → ")
	if o.Code != "" {
		text += " (" + string(o.Code) + ")"
	}
	for _, action := range o.Actions {
		if action != payment.Redirect {
			text += ", " + string(action)
		}
	}
	return text
}

const loginsHead = `
## Logins

A connection to the test connector, or to another one of the sandbox that reads, is
steered by its field ` + "`login`" + `: by the word it begins with, as in ` + "`otp`" + ` or ` + "`otp-anna`" + `.
The rest of the login chooses the data, which are the same ones every time. Every
password but ` + "`" + sandbox.Password + "`" + ` is wrong.

| Login begins with | What there is to see |
|---|---|
`

const scenariosHead = `# Scenarios of the sandbox

Every state, action, error code and incompatibility of a payment can be reached
with the test banks. ` + "`GET /2.0/sandbox/scenarios`" + ` has the same list for programs,
with each step; ` + "`passerelle scenarios`" + ` prints it. The bank is steered by the first
instruction's label, its amount, the accounts, or the field ` + "`use_case_pay`" + `.

| Scenario | Shows | Bank | Amount and label | What becomes of it |
|---|---|---|---|---|
`
