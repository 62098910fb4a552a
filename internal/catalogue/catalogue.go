// Package catalogue writes the page docs/scenarios.md. The page lists the scenarios of the sandbox
// and of the test banks.
//
// The package owns the sentences of the page, and the list of the test banks' scenarios. It does
// not own the scenarios of the sandbox, which are in package sandbox.
//
// The package fails when the writer fails.
package catalogue

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/payment"
)

// Write writes the catalogue as a page, with one row for each scenario.
func Write(w io.Writer) error {
	var page strings.Builder
	page.WriteString(scenariosHead)
	names := map[string]string{}
	for _, c := range (&sandbox.Bank{}).Connectors() {
		names[c.Profile().UUID] = c.Profile().Name
	}
	for _, s := range sandbox.Scenarios() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s | %s |\n", s.Name, s.Shows, names[s.Connector], inRow(steering(s)), inRow(course(s.Moves)), inRow(ending(s.Ends)))
	}
	page.WriteString(bankScenariosHead)
	for _, s := range BankScenarios {
		fmt.Fprintf(&page, "| %s | `%s` | %s | %s |\n", s.Bank, s.Creditor, s.Shows, s.Result)
	}
	page.WriteString(loginsHead)
	for _, l := range customers.Logins() {
		word := "any other"
		if l.Word != "" {
			word = "`" + l.Word + "`"
		}
		fmt.Fprintf(&page, "| %s | %s |\n", word, inRow(l.Shows))
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// BankScenario is an order at a test bank. If the bank accepts the order, the payer approves it.
type BankScenario struct {
	// Bank is the profile of the bank. Creditor is the beneficiary's name: this name selects the
	// behaviour that Shows describes. Result is the state of the payment, with its code.
	Bank, Creditor, Shows, Result string
}

// BankScenarios lists scenarios of the test banks that dev --bank starts.
var BankScenarios = []BankScenario{
	{"redirect", "Shop", "The payer approves on the bank's page.", "done"},
	{"redirect-explicit", "Shop", "The connector starts the authorisation.", "done"},
	{"oauth", "Shop", "The payer approves at the authorisation server (OAuth 2.0 with PKCE).", "done"},
	{"decoupled", "Shop", "The payer approves in the bank's app.", "done"},
	{"embedded", "Shop", "Password, choice of a method and a code, through the webview.", "done"},
	{"embedded-3", "Shop", "Three codes, the second with an image.", "done"},
	{"confirmation", "Shop", "The connector confirms with a code that the payer brings back.", "done"},
	{"oauth-confirmation", "Shop", "The payer approves at the authorisation server, and the connector confirms with the token.", "done"},
	{"urgent", "Shop", "The order is for the product target-2-payments.", "done"},
	{"signed", "Shop", "Requests are signed.", "done"},
	{"all", "Shop", "The bank has several approaches.", "done"},
	{"old", "Shop", "The bank reports nothing after ACSP.", "accepted"},
	{"multilevel", "Shop", "A second customer must approve at the bank.", "pending"},
	{"redirect", "Fault AM04", "The bank rejects the order at execution.", "rejected insufficientFunds"},
	{"redirect", "Fault AC04", "The account is closed; the bank does not say whose.", "rejected bankMessage"},
	{"redirect", "Fault RR04", "Regulation forbids the payment.", "rejected regulatoryReason"},
	{"redirect", "Fault NOAS", "The customer did not answer.", "rejected noAnswerFromCustomer"},
	{"redirect", "Fault sca", "The payer's approval fails.", "rejected CancelledByUser"},
	{"redirect", "Fault FORMAT_ERROR", "The bank refuses the order when it receives it.", "rejected invalidBeneficiary"},
	{"redirect", "Fault CERTIFICATE_INVALID", "The bank refuses the operator's certificate; the log names the remedy.", "rejected bug"},
	{"signed", "Fault SIGNATURE_INVALID", "The bank refuses the operator's signature.", "rejected bug"},
	{"redirect", "Fault 429", "The bank accepts no more requests.", "rejected websiteUnavailable"},
	{"redirect", "Fault SERVICE_UNAVAILABLE", "The bank reports that it is closed.", "rejected websiteUnavailable"},
	{"redirect", "Fault malformed", "The response is not JSON; its headers name the order.", "done"},
	{"redirect", "Fault 500", "The bank fails. Whether it has the order is unknown, and the order is never sent again.", "created"},
	{"redirect", "Fault slow", "The response takes three seconds.", "done"},
	{"redirect", "Fault lost", "The response is lost after the bank accepted the order.", "created"},
	{"redirect", "Fault elsewhere", "The bank redirects the connector to another host.", "created"},
	{"redirect", "Fault deep", "The response is nested without end.", "done"},
	{"idempotent", "Fault lost", "The response is lost, and the bank recognises the repeated order.", "done"},
	{"redirect", "Fault cut", "The response is cut off; its headers name the order.", "done"},
	{"redirect", "Fault huge", "The response has one gigabyte.", "done"},
	{"redirect", "Fault ACSP", "The bank's last status is ACSP, although it reports more for other orders.", "pending"},
	{"redirect", "Fault ZZZZ", "The bank's last status is unknown; the timeline shows it.", "pending"},
	{"redirect", "Fault PATC", "The bank's last status says that somebody else must approve.", "pending"},
	{"redirect", "Fault RCVD", "The bank reports nothing more after the approval.", "pending"},
}

const bankScenariosHead = `
## Test banks in another program

` + "`passerelle dev --bank`" + ` starts [test banks](test-bank.md) as a second program and connects them over mutual TLS. Each
bank has the name of its profile, as in "Example Bank (Berlin Group, redirect)". The name of the beneficiary selects the bank's
behaviour. In these rows, the payer approves. The clocks of the bank and the sandbox then advance by up to ten hours.

| Profile | Beneficiary | Shows | Result |
|---|---|---|---|
`

// inRow returns a text in which no character ends a table cell.
func inRow(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// usual returns the beneficiary of the rows that name no beneficiary.
func usual() sandbox.ScenarioAccount { return sandbox.Scenarios()[0].Lines[0].Beneficiary }

// steering lists the data that makes the bank behave like the scenario: the first instruction's
// amount and label, unusual accounts and days, the number of further instructions, and settings of
// the domain.
func steering(s sandbox.Scenario) string {
	first := s.Lines[0]
	parts := []string{first.Amount + " " + string(first.Currency), "`" + first.Label + "`"}
	if first.Beneficiary.Number != usual().Number {
		parts = append(parts, "to `"+first.Beneficiary.Number+"`")
	}
	if s.Payer != nil {
		parts = append(parts, "from `"+s.Payer.Number+"`")
	}
	if first.DateType != payment.FirstOpenDay {
		parts = append(parts, day(first))
	}
	if more := len(s.Lines) - 1; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
		parts = append(parts, fmt.Sprintf("with `%s` = `%s`", key, s.Settings[key]))
	}
	return strings.Join(parts, ", ")
}

// day returns the execution day of an instruction, relative to today.
func day(l sandbox.ScenarioLine) string {
	if l.DateType == payment.Instant {
		return string(l.DateType)
	}
	text := string(l.DateType) + " on day"
	if l.DateType == payment.Periodic {
		text = string(l.DateType) + " (" + string(l.Frequency) + ") from day"
	}
	text += fmt.Sprintf(" +%d", l.Days)
	if l.Saturday {
		text += " or the Saturday after"
	}
	if l.Until > 0 {
		text += fmt.Sprintf(" until +%d", l.Until)
	}
	return text
}

// course returns the moves of a scenario in order.
func course(moves []sandbox.Move) string {
	done := make([]string, len(moves))
	for i, m := range moves {
		done[i] = step(m)
	}
	return strings.Join(done, ", ")
}

// step returns a few words for one move. The head of the page explains these words.
func step(m sandbox.Move) string {
	text := string(m.Do)
	switch {
	case m.Do == sandbox.CancelOrder:
		text = "ask to cancel"
	case m.Do == sandbox.Decide:
		text = m.Decision
	case m.Do == sandbox.Advance:
		text += " " + span(m.Seconds)
	case m.Yes:
		text += " yes"
	case m.Do == sandbox.PSUValidate || m.Do == sandbox.ConfirmOrder:
		text += " no"
	}
	for _, name := range slices.Sorted(maps.Keys(m.Fields)) {
		text += fmt.Sprintf(" `%s=%s`", name, m.Fields[name])
	}
	if m.Account != "" {
		text += " from `" + m.Account + "`"
	}
	if m.Refused != "" {
		text += " (refused: " + m.Refused + ")"
	}
	return text
}

// span formats whole minutes and days in the form that the sandbox's clock accepts, such as 90m or
// 2d.
func span(seconds int64) string {
	const day = 24 * 60 * 60
	if seconds%day == 0 {
		return fmt.Sprintf("%dd", seconds/day)
	}
	return fmt.Sprintf("%dm", seconds/60)
}

// ending returns words for the states of the payment, the error code, and the actions except
// redirect.
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

The field ` + "`login`" + ` controls connections to the test connector and to the other sandbox connectors that read data. Its first
word selects the behaviour, as in ` + "`otp`" + ` or ` + "`otp-anna`" + `. The rest selects the data. The same login always has the same data.
Every password except ` + "`" + customers.Password + "`" + ` is wrong.

| First word of the login | Behaviour |
|---|---|
`

var scenariosHead = `# Scenarios of the sandbox

This page lists how to reach every state, action, error code and incompatibility of a payment with the test banks, and
how to control connections by their [login](#logins). ` + "`GET /2.0/sandbox/scenarios`" + ` returns the same list for programs,
with every instruction. This call needs the config token. ` + "`passerelle scenarios`" + ` prints this page.

Four parts of a request control the bank: the label and the amount of the first instruction, the accounts, and the field
` + "`use_case_pay`" + `.

If its row does not say otherwise, a payment has one instruction of type ` + "`" + string(payment.FirstOpenDay) + "`" + ` to
` + "`" + usual().Number + "`" + ` (IBAN), and names no account of the payer. Day +5 is five days from today. The rows use these steps:

| Step | Who does what |
|---|---|
| validate | The payer chooses the bank in the webview and continues. The webview does not ask for optional fields. For a step with a named field, the application therefore chooses the bank: ` + "`POST /payments/{id}` with `{\"connector_uuid\": …, \"fields\": {\"use_case_pay\": \"decoupled\"}, \"validated\": true, \"webview_url\": …}`" + `. |
| approve, refuse | The payer decides on the bank's page or in its app, from the named account. With ` + "`use_case_pay=redirect`" + ` and ` + "`redirect_no_confirmation`" + `, a ` + "`GET`" + ` of ` + "`validate_uri`" + ` approves. |
| submit, confirm, psu_validate, resume | The payer answers the webview's next question with the named fields, with yes or no, or by returning. |
| ask to cancel | The application sends ` + "`POST /payments/{id}` with `{\"cancel\": true, \"client_redirect_uri\": …}`" + `. |
| cancel, keep | The payer decides about the cancellation on the bank's page. |
| check | The service asks the bank again: ` + "`POST /2.0/sandbox/run`" + `. |
| advance 2d | The clock moves: ` + "`POST /2.0/sandbox/clock` with `{\"advance\": \"2d\"}`" + `. |

| Scenario | Shows | Bank | Request | Steps | Result |
|---|---|---|---|---|---|
`
