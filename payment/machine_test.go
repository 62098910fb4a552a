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

// now is the instant of every test, in the afternoon of 2026-11-21 in UTC.
var now = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)

// wantFile compares text with a file, which -update writes.
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
		t.Errorf("%s is not what the code makes; run with -update and read the change (-want +got):\n%s", name, diff)
	}
}

// TestEveryTriggerInEveryState fires all of them. The file is the state table of
// the interface specification, and the rest of the matrix is illegal and
// changes nothing.
func TestEveryTriggerInEveryState(t *testing.T) {
	var matrix strings.Builder
	for _, from := range payment.States() {
		for _, trigger := range payment.Triggers() {
			fmt.Fprintf(&matrix, "%-10s %-9s -> %s\n", from, trigger, fired(t, from, trigger))
		}
	}
	wantFile(t, "testdata/transitions.txt", matrix.String())
}

// fired is the state after a trigger, or "illegal".
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

// TestEveryStateIsReached finds states and triggers that the table forgot.
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

// meaning says in a sentence what each trigger is, for the page about states.
var meaning = map[payment.Trigger]string{
	payment.Validated: "the payer chose a bank and the bank took the order",
	payment.Approved:  "the payer validated on the bank's app or site",
	payment.Executed:  "the bank confirms every instruction as executed",
	payment.Admitted:  "the first controls are passed and the bank says no more",
	payment.Mixed:     "some instructions are rejected, others done or accepted",
	payment.Refused:   "refused by the bank, cancelled by the payer or the client, or an error",
	payment.Lapsed:    "no definitive status within the configured delay",
}

const statesPage = `# The states of a payment

Made from the table in ` + "`payment/machine.go`" + ` by its tests; write it anew with ` + "`make generate`" + `.
The database holds the same table and refuses any history that is not a path of it.

` + "```mermaid" + `
stateDiagram-v2
    [*] --> created
%s` + "```" + `

| From | Trigger | Meaning | To |
|---|---|---|---|
%s
## How the instructions of a bulk decide

| Instructions | State of the payment |
|---|---|
| any pending | pending |
| all done | done |
| all accepted, or accepted and done | accepted |
| all rejected | rejected, with the reason of the first |
| some rejected, others done or accepted | partial |

## What is not a change of state

These are notes in the timeline of a payment; they give no event.

| Note | Meaning |
|---|---|
%s
A cancellation under way is the state detail ` + "`cancelling`" + ` of a payment that is validating or pending. It is left when the bank
grants the cancellation, which rejects the payment with the code of who asked; when the bank or the payer refuses it, and the
payment goes on; or when the payment ends otherwise meanwhile, and its bank's outcome counts.

## Who is told, and when

Every change of state is an event, ` + "`PAYMENT_STATE_UPDATED`" + `, and its webhooks are sent at once. Domains created before
2024-09-13 00:00 UTC (` + "`passerelle domain create --created`" + ` for one that came from elsewhere) have the older behaviour, in which
receivers are not told what the payer brings:

- Until the payer has been sent to the callback of the client with ` + "`payment_state`" + `, the webhooks of each change wait
  ` + "`payment.callback_grace_minutes`" + ` (5) of the domain's time.
- The payer's return drops those that still wait. They stay in the record of what was to be delivered, with the reason.
- When nobody returns in that time, they are sent; so is, at once, every change after the return.

A page of the client's own (` + "`webview_url`" + `) is not the callback: what happens there, receivers are told after the wait. The
key ` + "`payment.state_updated_webhook.systematic`" + ` decides for domains of any age: ` + "`1`" + ` is the present behaviour, ` + "`0`" + ` the older one.
`

// kind says in a sentence what each note is, for the same page.
var kind = map[string]string{
	payment.NoteCancelling:            "a cancellation waits for the payer's action",
	payment.NoteCancellationGranted:   "the bank cancels what is still open",
	payment.NoteCancellationRefused:   "the order goes on as if nobody had asked for its cancellation",
	payment.NoteCancellationOvertaken: "the payment ended otherwise before its cancellation was decided",
	payment.NoteOccurrence:            "a periodic order was executed once",
	payment.NoteOccurrenceFailed:      "one execution of a periodic order failed; the order goes on",
	payment.NoteStale:                 "the bank said less than was known; nothing changed",
	payment.NoteSenseless:             "the bank said what cannot be understood; nothing changed",
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
