package payment_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/payment"
)

var update = flag.Bool("update", false, "rewrite testdata and docs/payment-states.md")

var now = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)

func wantFile(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code makes; run make generate and read the change (-want +got):\n%s", name, diff)
	}
}

// testdata/transitions.txt contains the expected results of TestEveryTriggerInEveryState.
func TestEveryTriggerInEveryState(t *testing.T) {
	var matrix strings.Builder
	for _, from := range payment.States() {
		for _, trigger := range payment.Triggers() {
			fmt.Fprintf(&matrix, "%-10s %-9s -> %s\n", from, trigger, fired(t, from, trigger))
		}
	}
	wantFile(t, "testdata/transitions.txt", matrix.String())
}

func fired(t *testing.T, from payment.State, trigger payment.Trigger) string {
	t.Helper()
	p := payment.Payment{State: from, Seq: 3, Action: payment.Redirect, ValidateURI: "https://bank.example"}
	before := p
	cause := payment.Cause{Trigger: trigger, Actor: payment.ByBank, Bank: "WORD"}
	transition, err := p.Fire(cause, now)
	if errors.Is(err, payment.ErrIllegal) {
		if diff := cmp.Diff(before, p); diff != "" || transition != (payment.Transition{}) {
			t.Errorf("%s in %s is illegal and changes the payment: %s", trigger, from, diff)
		}
		return "illegal"
	}
	want := payment.Transition{Seq: 4, From: from, To: p.State, Cause: cause, At: now}
	if diff := cmp.Diff(want, transition); err != nil || diff != "" {
		t.Errorf("%s in %s: %v %s", trigger, from, err, diff)
	}
	if p.State.Final() && (p.Action != "" || p.ValidateURI != "") {
		t.Errorf("%s leaves an action behind", p.State)
	}
	return string(p.State)
}

func TestWhatIsFinal(t *testing.T) {
	intermediate := []payment.State{payment.Created, payment.Validating, payment.Pending}
	for _, state := range payment.States() {
		if want := !slices.Contains(intermediate, state); state.Final() != want {
			t.Errorf("%s is final: %v", state, !want)
		}
	}
}

// TestEveryStateIsReached checks that an edge leads to each state except created, and that each
// trigger has an edge.
func TestEveryStateIsReached(t *testing.T) {
	for _, state := range payment.States()[1:] {
		if !slices.ContainsFunc(payment.Edges(), func(e payment.Edge) bool { return e.To == state }) {
			t.Errorf("nothing leads to %s", state)
		}
	}
	for _, trigger := range payment.Triggers() {
		if !slices.ContainsFunc(payment.Edges(), func(e payment.Edge) bool { return e.Trigger == trigger }) {
			t.Errorf("%s does nothing", trigger)
		}
	}
}

func TestEdgesAreACopy(t *testing.T) {
	payment.Edges()[0].To = payment.Done
	if payment.Edges()[0].To == payment.Done {
		t.Error("the state table can be changed from outside")
	}
}

// meaning describes each trigger, for the page about states.
var meaning = map[payment.Trigger]string{
	payment.Validated: "the payer chose a bank and the bank took the order",
	payment.Approved:  "the payer validated on the bank's app or site",
	payment.Executed:  "the bank confirms every instruction as executed",
	payment.Admitted:  "the bank accepts the payment after its first checks and reports nothing more",
	payment.Mixed:     "some instructions are rejected, others done or accepted",
	payment.Refused:   "the bank refuses, the payer or the client cancels, or an error occurs",
	payment.Lapsed:    "no final status within the configured delay",
}

const statesPage = `# Payment states

<!-- Generated from the code; make generate updates it. -->

This page shows the states of a payment, the causes of each change of state, and the webhooks that report it.
The states come from the table in ` + "`payment/machine.go`" + `. The database rejects every history that this table does not
allow.

` + "```mermaid" + `
stateDiagram-v2
    [*] --> created
%s` + "```" + `

| From | Trigger | Meaning | To |
|---|---|---|---|
%s
## Bulk payments

The states of the instructions determine the state of a bulk payment:

| Instructions | State of the payment |
|---|---|
| any pending | pending |
| all done | done |
| all accepted, or accepted and done | accepted |
| all rejected | rejected, with the first instruction's code |
| some rejected, others done or accepted | partial |

## Notes in the timeline

The timeline also has notes. They change no state and send no event.

| Note | Meaning |
|---|---|
%s
During a cancellation, the payment is validating or pending with the state detail ` + "`cancelling`" + `. The detail
disappears in one of three ways:

- The bank grants the cancellation. The payment is rejected. The error code shows who asked for the cancellation.
- The bank or the payer refuses the cancellation, or it lasts a week. The week begins with the last act of the client or
  the payer. Each ` + "`resume`" + ` is such an act, also that of a hosted page which waits for the bank. At banks of the Berlin
  Group, the week begins with the request. The payment continues, and the client can request another cancellation.
- The payment ends in another way first. In this case, the outcome at the bank determines the state.

When a cancellation ends, the bank may ask about the payment instead. An answer with ` + "`fields`" + `, or the
answer ` + "`true`" + ` to ` + "`psu_validate`" + ` or ` + "`confirm`" + `, then agrees to the payment. Add ` + "`cancelling`" + ` to the
answer, ` + "`true`" + ` for a question about the cancellation and ` + "`false`" + ` for a question about the payment. The service
then refuses an answer to the other question with 409 ` + "`conflict`" + `.

A client can cancel every created payment whose order was not sent. After that, the service refuses these requests:

| Reason | Response |
|---|---|
| the payment has ended | 409 ` + "`conflict`" + ` |
| the bank cancels no payments | 400 ` + "`notSupported`" + ` |
| an instruction is instant, and the bank cancels payments | 409 ` + "`conflict`" + ` |
| another operation on the payment is under way, or the outcome of its order is unknown | 409 ` + "`conflict`" + ` |

## Which webhooks report a change, and when

Every change of state emits the event ` + "`PAYMENT_STATE_UPDATED`" + `. The service immediately sends the webhooks of this event.

Domains created before 2024-09-13 00:00 UTC have an older behaviour. Use ` + "`passerelle domain create --created`" + ` for
a domain that moved here. In these domains, the service sends no webhook about a change that the payer's return has
already reported:

- After a change, the service holds its webhooks until the payer returns to the client's callback, whose query contains
  ` + "`payment_state`" + `. It holds them for at most ` + "`payment.callback_grace_minutes`" + ` (5), in the domain's time.
- When the payer returns in time, the service drops the waiting webhooks. It keeps a record with the reason.
- When the payer does not return in time, the service sends the webhooks.
- The service immediately sends the webhooks of changes after the return.

The client's own page (` + "`webview_url`" + `) is not the callback. Receivers learn of changes on this page after the wait.
The setting ` + "`payment.state_updated_webhook.systematic`" + ` overrides the age of the domain: ` + "`1`" + ` selects the present
behaviour, ` + "`0`" + ` selects the older behaviour.
`

// kind describes each kind of note, for the page about states.
var kind = map[string]string{
	payment.NoteCancelling:            "a cancellation waits for the payer's action",
	payment.NoteCancellationGranted:   "the bank cancels the rest of the order",
	payment.NoteCancellationRefused:   "the order continues",
	payment.NoteCancellationOvertaken: "the payment ended before the cancellation was decided",
	payment.NoteAbandoned:             "the payer abandoned the payment, and can still approve it at the bank",
	payment.NoteOccurrence:            "a periodic order was executed once",
	payment.NoteOccurrenceFailed:      "one execution of a periodic order failed; the order continues",
	payment.NoteBankStatus:            "the bank has another status, or has a message about the order",
	payment.NoteOutcomeUnknown:        "the outcome of a call to the bank is unknown; the service asks the bank for it",
	payment.NoteSettled:               "an operator stated the outcome, because the bank could not",
	payment.NoteStale:                 "the bank reported an older state; nothing changed",
	payment.NoteSenseless:             "the service did not understand the report of the bank; nothing changed",
}

func TestPageOfStates(t *testing.T) {
	var arrows, rows, notes strings.Builder
	for _, e := range payment.Edges() {
		fmt.Fprintf(&arrows, "    %s --> %s: %s\n", e.From, e.To, e.Trigger)
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", e.From, e.Trigger, meaning[e.Trigger], e.To)
	}
	for _, state := range payment.States() {
		if state.Final() {
			fmt.Fprintf(&arrows, "    %s --> [*]\n", state)
		}
	}
	for _, note := range payment.NoteKinds() {
		fmt.Fprintf(&notes, "| %s | %s |\n", note, kind[note])
	}
	wantFile(t, "../docs/payment-states.md", fmt.Sprintf(statesPage, arrows.String(), rows.String(), notes.String()))
}
