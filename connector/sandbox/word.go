package sandbox

import (
	"slices"
	"strings"
	"time"

	"passerelle/connector/sandbox/speech"
	"passerelle/payment"
)

// unsaid is the default script. It stands for an ordinary payment that takes some time.
const unsaid = "pdng"

// beyond is the default duration of the word late. It is much longer than the default time after
// which payments expire.
const beyond = 90 * 24 * time.Hour

// words maps the words of scripts to functions. Each function extends a plan, and returns false
// when the word has no meaning in that plan.
var words = map[string]func(p *planner, c call) bool{
	// The test connectors of other services with this API have the same words.
	"pdng": func(p *planner, c call) bool { return p.add(p.pending(c)) },
	"done": func(p *planner, _ call) bool { return p.end(ending{State: payment.InstructionDone}) },
	"canc": func(p *planner, _ call) bool { return p.end(byPayer) },
	"rjct": func(p *planner, c call) bool { return p.end(refusal(codeOf(c.arg(0)))) },
	"err":  func(p *planner, _ call) bool { return p.end(refusal(payment.InvalidAmount)) },
	"bug":  func(p *planner, _ call) bool { return p.end(refusal(payment.Bug)) },

	// These words control how orders end.
	"accp": func(p *planner, _ call) bool { return p.end(ending{State: payment.InstructionAccepted}) },
	"part": (*planner).part,
	"hold": func(p *planner, _ call) bool { return p.add(step{Do: rest, Wait: forever}) },
	"late": (*planner).late,
	"fail": (*planner).fail,
	"kept": func(p *planner, _ call) bool { p.Keeps = true; return true },

	// These words control the approvals before the execution.
	"actn": (*planner).ask,
	"skip": func(p *planner, _ call) bool { p.Silent = true; return true },
	"auto": func(p *planner, _ call) bool { p.Trusting = true; return true },

	// These words are failures in the communication between the bank and its clients.
	"dupl": func(p *planner, _ call) bool { return p.utter("processing", 2) },
	"back": func(p *planner, _ call) bool { return p.utter("processing", 1) && p.utter("older", 1) },
	"unkn": func(p *planner, _ call) bool { return p.add(step{Do: say, What: "unknown", Times: 1}) },
	"html": func(p *planner, _ call) bool { return p.end(saying(htmlText)) },
	"mega": func(p *planner, _ call) bool { return p.end(saying(megaText)) },
	"slow": func(p *planner, c call) bool { return p.deliver(step{Do: slow, Wait: c.waits(30 * time.Second)}) },
	"lose": func(p *planner, _ call) bool { return p.deliver(step{Do: lose}) },
	"mute": func(p *planner, _ call) bool { return p.add(step{Do: mute}) },
}

// pending returns a step in which the bank processes an approved order. With the timing Faithful, a
// deferred payment without a script waits for its day.
func (p *planner) pending(c call) step {
	s := step{Do: pend, Wait: c.waits(p.timing.execution(p.order.DateType))}
	if p.unsaid && p.timing == Faithful && p.order.DateType == payment.Deferred {
		s.Day = p.order.Day
	}
	return s
}

// end ends the order. A periodic order that ends as done continues until its last occurrence.
func (p *planner) end(e ending) bool {
	if p.order.DateType == payment.Periodic && e.State == payment.InstructionDone {
		p.add(step{Do: series})
	}
	return p.add(step{Do: end, Ending: e})
}

// part rejects the instructions with the numbers in the arguments and pays the others.
func (p *planner) part(c call) bool {
	last := step{Do: end, Ending: ending{State: payment.InstructionDone}}
	for i := range c.args {
		line := lineEnding{Position: c.number(i, 0) - 1, Ending: refusal(payment.NoSpecifiedReason)}
		if line.Position >= 0 && line.Position < len(p.order.Lines) && !slices.ContainsFunc(last.Lines, line.same) {
			last.Lines = append(last.Lines, line)
		}
	}
	return len(last.Lines) > 0 && p.add(last)
}

// late makes the bank repeat its last report for a time, by default until the service has stopped
// waiting.
func (p *planner) late(c call) bool {
	p.add(step{Do: rest, Wait: c.waits(beyond)})
	return c.arg(0) == "" || p.end(refusal(codeOf(c.arg(0))))
}

// fail makes one occurrence of a periodic order fail.
func (p *planner) fail(c call) bool {
	p.Misses = append(p.Misses, miss{Number: c.number(0, 1), Code: codeOf(c.arg(1))})
	return p.order.DateType == payment.Periodic
}

// ask adds a question. It returns false for an unknown question, and when the scenario already has
// a step pend, rest or say.
func (p *planner) ask(c call) bool {
	q, known := questions[c.arg(0)]
	if !known || p.has(pend, rest, say) {
		return false
	}
	wait := time.Duration(0)
	if p.timing == Faithful {
		wait = q.delay
	}
	return p.add(step{Do: ask, What: c.arg(0), Wait: c.waits(wait), Times: c.number(1, 1)})
}

// utter adds an unusual report that makes sense only for approved orders.
func (p *planner) utter(what string, times int) bool {
	if !p.has(pend) {
		p.add(step{Do: pend})
	}
	return p.add(step{Do: say, What: what, Times: times})
}

// deliver adds a step that affects the response to Initiate. It must be the first step.
func (p *planner) deliver(s step) bool { return len(p.Steps) == 0 && p.add(s) }

// messages maps error codes to the bank's texts. With other codes the bank sends no text.
var messages = map[payment.ErrorCode]string{
	payment.InvalidEmitter:       "The account to be debited is closed.",
	payment.InsufficientFunds:    "The balance of the account is too low.",
	payment.InvalidAmount:        "The amount is outside the allowed range.",
	payment.InvalidCurrency:      "The account does not support this currency.",
	payment.InvalidDate:          "The bank does not execute payments on this day.",
	payment.InvalidBeneficiary:   "The beneficiary's account does not exist.",
	payment.InvalidLabel:         "The label contains characters that the bank does not accept.",
	payment.InvalidReferenceID:   "The reference has been used before.",
	payment.RegulatoryReason:     "The payment was stopped for a compliance check.",
	payment.AuthenticationFailed: "The payer could not be authenticated.",
	payment.NoAnswerFromCustomer: "The payer did not answer in time.",
	payment.CancelledByUser:      "The payer cancelled the payment.",
	payment.CancelledByClient:    "The payment was cancelled at the client's request.",
	payment.ConfirmationRefused:  "The client did not confirm the payment.",
	payment.BankMessage:          htmlText,
	payment.InvalidValue:         "A value was refused.",
	payment.WebsiteUnavailable:   "The bank is closed for maintenance.",
	payment.Bug:                  "Something went wrong at the bank.",
}

// htmlText is a message with markup and with letters of several writing systems. Banks have sent
// such messages.
const htmlText = `<p class="msg">Désolé&nbsp;! <b>Votre banque</b> – Η τράπεζα – 銀行<br><script>alert(1)</script></p>`

// megaText is stored in the ledger in place of a message of a megabyte.
const megaText = "mega"

// spoken returns the text of an ending in a language. For megaText, it generates a message of a
// megabyte.
func (e ending) spoken(s speech.Speech) string {
	if e.Text == megaText {
		return strings.Repeat("The bank has a lot to say. ", 1<<20/27)
	}
	return s.Say(e.Text)
}

func refusal(code payment.ErrorCode) ending {
	return ending{State: payment.InstructionRejected, Code: code, Text: messages[code]}
}

func saying(text string) ending {
	return ending{State: payment.InstructionRejected, Code: payment.BankMessage, Text: text}
}

// These are endings that the bank does not cause.
var (
	byPayer    = ending{payment.InstructionRejected, payment.CancelledByUser, messages[payment.CancelledByUser], payment.ByPayer}
	byClient   = ending{payment.InstructionRejected, payment.CancelledByClient, messages[payment.CancelledByClient], payment.ByClient}
	notGranted = ending{payment.InstructionRejected, payment.ConfirmationRefused, messages[payment.ConfirmationRefused], payment.ByClient}
)

// codeOf parses an error code, ignoring case. An empty name means NoSpecifiedReason. An unknown
// code stays unchanged, because banks have codes of their own.
func codeOf(name string) payment.ErrorCode {
	for _, known := range payment.Bug.Values() {
		if strings.EqualFold(known, name) {
			return payment.ErrorCode(known)
		}
	}
	if name == "" {
		return payment.NoSpecifiedReason
	}
	return payment.ErrorCode(name)
}
