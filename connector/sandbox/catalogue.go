package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/payment"
)

// Scenarios lists all behaviours of the simulated banks towards a payment. Each state, transition,
// action, error code, incompatibility, date type and frequency occurs in at least one scenario.
// Each call returns a new list, which the caller may change.
func Scenarios() []Scenario {
	return slices.Concat(
		journeys(), scripted(), byAmount(), byAccount(), byUseCase(), answered(), bulks(), cancellations(), dated(), incompatible(), odd(),
	)
}

// paths maps the names of paths to the states that a payment goes through.
var paths = map[string][]payment.State{
	"created":   {payment.Created},
	"abandoned": {payment.Created, payment.Rejected},
	"forgotten": {payment.Created, payment.Expired},
	"waiting":   {payment.Created, payment.Validating},
	"refused":   {payment.Created, payment.Validating, payment.Rejected},
	"lapsed":    {payment.Created, payment.Validating, payment.Expired},
	"pending":   {payment.Created, payment.Validating, payment.Pending},
	"done":      {payment.Created, payment.Validating, payment.Pending, payment.Done},
	"accepted":  {payment.Created, payment.Validating, payment.Pending, payment.Accepted},
	"partial":   {payment.Created, payment.Validating, payment.Pending, payment.Partial},
	"rejected":  {payment.Created, payment.Validating, payment.Pending, payment.Rejected},
	"expired":   {payment.Created, payment.Validating, payment.Pending, payment.Expired},
}

// lineStates maps the last state of a payment in a scenario to the state of its instructions.
var lineStates = map[payment.State]payment.InstructionState{
	payment.Created: "", payment.Validating: payment.InstructionPending, payment.Pending: payment.InstructionPending, payment.Expired: payment.InstructionPending,
	payment.Rejected: payment.InstructionRejected, payment.Done: payment.InstructionDone, payment.Accepted: payment.InstructionAccepted,
}

// scenario returns a scenario with a path and a payment of 12.50 euros to a shop, modified by the
// changes.
func scenario(name, shows, path string, code payment.ErrorCode, change ...func(*Scenario)) Scenario {
	s := Scenario{
		Name: name, Shows: shows, Connector: TestConnector, Moves: []Move{}, Lines: []ScenarioLine{euros("12.50", "Order 42")},
		Ends: Outcome{States: paths[path], Code: code},
	}
	for _, do := range change {
		do(&s)
	}
	if s.Ends.Lines == nil {
		s.Ends.Lines = s.linesOf(path)
	}
	return s
}

func (s *Scenario) linesOf(path string) []payment.InstructionState {
	end := lineStates[paths[path][len(paths[path])-1]]
	if path == "forgotten" {
		end = ""
	}
	return slices.Repeat([]payment.InstructionState{end}, len(s.Lines))
}

func euros(amount, label string) ScenarioLine {
	return ScenarioLine{
		Amount: amount, Currency: "EUR", Label: label, DateType: payment.FirstOpenDay,
		Beneficiary: ScenarioAccount{passerelle.IBAN, "FR7699999000000000000000033", "Sandbox Shop"},
	}
}

// These functions change scenarios.

func label(text string) func(*Scenario) {
	return func(s *Scenario) { s.Lines[0].Label = text }
}

func lines(list ...ScenarioLine) func(*Scenario) { return func(s *Scenario) { s.Lines = list } }

func moves(list ...Move) func(*Scenario) { return func(s *Scenario) { s.Moves = list } }

func actions(list ...payment.Action) func(*Scenario) {
	return func(s *Scenario) { s.Ends.Actions = list }
}

func at(id int64) func(*Scenario) {
	return func(s *Scenario) {
		i := slices.IndexFunc(variants, func(v variant) bool { return v.id == id })
		s.Connector = variants[i].uuid
	}
}

func ofType(dates payment.DateType, days int) func(*Scenario) {
	return func(s *Scenario) {
		for i := range s.Lines {
			s.Lines[i].DateType, s.Lines[i].Days = dates, days
		}
	}
}

func states(list ...payment.InstructionState) func(*Scenario) {
	return func(s *Scenario) { s.Ends.Lines = list }
}

func manual(s *Scenario) { s.Settings = map[string]string{"payment.auto_confirmation": "0"} }

func cancelling(s *Scenario) { s.Ends.Cancelling = true }

// approved makes the scenario follow the usual flow: the payer approves after a redirect.
func approved(s *Scenario) {
	s.Moves = []Move{validate, approves}
	s.Ends.Actions = []payment.Action{payment.Redirect}
}

// These are the moves of scenarios.

var (
	validate = Move{Do: Validate}
	approves = Move{Do: Decide, Decision: string(approve)}
	refuses  = Move{Do: Decide, Decision: string(refuse)}
	resumes  = Move{Do: Resume}
	checks   = Move{Do: Check}
	cancels  = Move{Do: CancelOrder}
	// longOn advances the clock beyond the default expiry, which is at most 30 days after the next
	// open day.
	longOn = days(40)
)

func days(n int64) Move { return Move{Do: Advance, Seconds: n * int64(24*time.Hour/time.Second)} }

func using(useCase string) Move {
	return Move{Do: Validate, Fields: map[string]string{useCaseField: useCase}}
}

func submits(values map[string]string) Move { return Move{Do: Submit, Fields: values} }

// journeys returns scenarios that no script, amount or account controls.
func journeys() []Scenario {
	return []Scenario{
		scenario("plain", "A payment that the payer approves at the bank and the bank executes.", "done", "", approved),
		scenario("refused-at-bank", "The payer refuses at the bank.", "refused", payment.CancelledByUser, moves(validate, refuses), actions(payment.Redirect)),
		scenario("abandoned-by-client", "The client cancels before the payer validates.", "abandoned", payment.CancelledByClient, moves(cancels)),
		scenario("never-validated", "The payer never validates, and the payment expires.", "forgotten", "", moves(longOn)),
		scenario("never-approved", "The payer never opens the bank’s page, and the payment expires.", "lapsed", "", moves(validate, longOn), actions(payment.Redirect)),
		scenario("british", "Pounds to a British account, at a bank that supports only that.", "done", "", approved, at(41), ofType(payment.Instant, 0), func(s *Scenario) {
			s.Lines[0].Currency, s.Lines[0].Beneficiary = "GBP", ScenarioAccount{passerelle.SortCode, "00000055779912", "Sandbox Shop"}
		}),
		scenario("accept-only", "The bank accepts the payment and reports nothing more.", "accepted", "", approved, at(62)),
		scenario("forgetful", "A bank that cannot tell a repeated order from a new one.", "done", "", approved, at(61)),
	}
}

// scripted returns scenarios with scripts in labels. The payer approves at the bank unless the
// script says otherwise.
func scripted() []Scenario {
	return []Scenario{
		scenario("label-done", "The bank executes the payment at once.", "done", "", approved, label("done - Order 42")),
		scenario("label-pending-done", "A script of three steps: pending twice, then done.", "done", "", approved, label("pdng/pdng/done - Order 42")),
		scenario("label-rejected", "The bank refuses what the payer approved.", "refused", payment.NoSpecifiedReason, approved, label("rjct - Order 42")),
		scenario("label-rejected-late", "The bank accepts the order and rejects it later.", "rejected", payment.InsufficientFunds, approved, label("pdng/rjct(insufficientFunds) - Order 42")),
		scenario("label-cancelled", "The payer cancels after approving.", "refused", payment.CancelledByUser, approved, label("canc - Order 42")),
		scenario("label-error", "The bank refuses the amount.", "refused", payment.InvalidAmount, approved, label("err - Order 42")),
		scenario("label-bug", "The bank fails while it receives the order.", "abandoned", payment.Bug, moves(validate), label("bug - Order 42")),
		scenario("label-accepted", "The bank accepts the payment and reports nothing more.", "accepted", "", approved, label("pdng/accp - Order 42")),
		scenario("label-hold", "The bank reports nothing after the approval, and the payment expires.", "lapsed", "",
			moves(validate, approves, longOn), actions(payment.Redirect), label("hold - Order 42")),
		scenario("label-pending-hold", "The bank accepts the order and reports nothing more.", "expired", "",
			moves(validate, approves, longOn), actions(payment.Redirect), label("pdng/hold - Order 42")),
		scenario("label-pending-an-hour", "A step with its own duration.", "done", "",
			moves(validate, approves, checks, Move{Do: Advance, Seconds: 3600}), actions(payment.Redirect), label("pdng:1h/done - Order 42")),
		scenario("label-unknown-word", "An unknown word is skipped and noted in the timeline.", "done", "", approved, label("pdng/what/done - Order 42")),
		scenario("label-dash-only", "A label that only contains a dash is not a script.", "done", "", approved, label("Rent - May")),
	}
}

// byAmount returns scenarios with the amounts that select error codes or other scripts.
func byAmount() []Scenario {
	var list []Scenario
	for i, code := range payment.Bug.Values() {
		amount := fmt.Sprintf("%d.00", 7101+i)
		change, path := approved, "refused"
		if code == string(payment.Bug) {
			change, path = moves(validate), "abandoned"
		}
		list = append(list, scenario("amount-"+amount[:4], "The amount "+amount+" is refused with "+code+".", path, payment.ErrorCode(code), change, func(s *Scenario) { s.Lines[0].Amount = amount }))
	}
	amount := func(units, shows, path string, change ...func(*Scenario)) Scenario {
		return scenario("amount-"+units, shows, path, "", append(change, func(s *Scenario) { s.Lines[0].Amount = units + ".00" })...)
	}
	return append(list,
		amount("7120", "The bank never responds, and the payment expires.", "forgotten", moves(validate, longOn)),
		amount("7121", "The bank accepts the payment and reports nothing more.", "accepted", approved),
		amount("7122", "The payer approves in the bank’s app.", "done", moves(validate, resumes), actions(payment.Decoupled)),
		amount("7123", "The payer fills in fields.", "done", moves(validate, submits(rightFields)), actions(payment.FillFields)),
		amount("7124", "The client confirms.", "done", moves(validate, Move{Do: ConfirmOrder, Yes: true}), actions(payment.Confirm)),
		amount("7125", "The payer validates with the client.", "done", moves(validate, Move{Do: PSUValidate, Yes: true}), actions(payment.PSUValidation)),
		amount("7126", "The bank responds too late, but has the order.", "done", lateApproval),
		amount("7127", "The bank responds far too late, but has the order.", "done", lateApproval),
		amount("7128", "The response is lost, and the order is executed once.", "done", moves(validate, days(1))),
		amount("7129", "The bank reports the same status twice.", "done", approved, again),
	)
}

// lateApproval makes the service ask for the outcome of the validation before the payer approves.
func lateApproval(s *Scenario) {
	s.Moves = []Move{validate, {Do: Advance, Seconds: 600}, approves}
	s.Ends.Actions = []payment.Action{payment.Redirect}
}

// again makes the service check the payment three more times.
func again(s *Scenario) { s.Moves = append(s.Moves, checks, checks, checks) }

var rightFields = map[string]string{"code": "1234", "device": "phone"}

// byAccount returns scenarios with accounts that select scripts.
func byAccount() []Scenario {
	var list []Scenario
	to := func(number, shows, path string, code payment.ErrorCode, change ...func(*Scenario)) {
		list = append(list, scenario("beneficiary-"+number[len(number)-3:], shows, path, code, append(change, func(s *Scenario) { s.Lines[0].Beneficiary.Number = number })...))
	}
	to("FR7699999000000000000000130", "The beneficiary does not exist.", "refused", payment.InvalidBeneficiary, approved)
	to("FR7699999000000000000000227", "The bank stops the payment for a compliance check after the approval.", "rejected", payment.RegulatoryReason, approved)
	to("FR7699999000000000000000324", "The beneficiary’s bank sends the money back.", "rejected", payment.NoSpecifiedReason, approved)
	to("FR7699999000000000000000421", "The payer has not marked the beneficiary as trusted.", "refused", payment.InvalidBeneficiary, approved)
	to("FR7699999000000000000000518", "The payment takes two days.", "done", "", moves(validate, approves, checks, days(2)), actions(payment.Redirect))
	for _, p := range payers {
		list = append(list, byPayerAccount(p))
	}
	return list
}

func byPayerAccount(p payer) Scenario {
	path, code, change := "done", payment.ErrorCode(""), approved
	if s := readScript(p.script); len(s.calls) > 0 && s.calls[0].word == "rjct" {
		path, code = "refused", codeOf(s.calls[0].arg(0))
	}
	if strings.HasPrefix(p.script, "skip") {
		change = moves(validate)
	}
	return scenario("payer-"+p.number[len(p.number)-3:], "The payer uses the "+strings.ToLower(p.name)+".", path, code, change, func(s *Scenario) {
		s.Payer = &ScenarioAccount{passerelle.IBAN, p.number, p.name}
		s.Lines[0].Beneficiary.Number = "DE93999999990000000001"
	})
}

// byUseCase returns scenarios with the values of the field use_case_pay.
func byUseCase() []Scenario {
	use := func(value, shows, path string, code payment.ErrorCode, moved []Move, asked ...payment.Action) Scenario {
		return scenario("use-case-"+strings.ReplaceAll(value, "_", "-"), shows, path, code, moves(append([]Move{using(value)}, moved...)...), actions(asked...))
	}
	code := submits(map[string]string{"openapisms": "1234"})
	wrong := use("otp_sms", "A wrong code from an SMS.", "refused", payment.AuthenticationFailed, []Move{submits(map[string]string{"openapisms": "4321"})}, payment.FillFields)
	wrong.Name += "-wrong"
	second := use("account_choice", "The payer chooses an account that cannot pay.", "refused", payment.InvalidEmitter, []Move{submits(map[string]string{"account_id": "snd"})}, payment.FillFields)
	second.Name += "-second"
	trusting := use("redirect_no_confirmation", "The bank never asks for the confirmation that the domain requires.", "done", "", []Move{approves}, payment.Redirect)
	manual(&trusting)
	return []Scenario{
		use("legacy", "The payer approves at the bank, and the label sets the result.", "done", "", []Move{approves}, payment.Redirect),
		use("redirect", "The payer approves at the bank.", "done", "", []Move{approves}, payment.Redirect),
		use("decoupled", "The payer approves in the bank’s app.", "done", "", []Move{resumes}, payment.Decoupled),
		use("decoupled_cancelled", "The payer refuses in the bank’s app.", "refused", payment.CancelledByUser, []Move{resumes}, payment.Decoupled),
		use("decoupled_expired", "The payer does not answer in the bank’s app.", "refused", payment.AuthenticationFailed, []Move{resumes}, payment.Decoupled),
		use("otp_sms", "The payer enters a code from an SMS.", "done", "", []Move{code}, payment.FillFields),
		wrong,
		use("otp_plus_decoupled", "The payer enters a code, and then approves in the bank’s app.", "done", "", []Move{code, resumes}, payment.FillFields, payment.Decoupled),
		use("account_choice", "The payer chooses an account.", "done", "", []Move{submits(map[string]string{"account_id": "main"})}, payment.FillFields),
		second,
		trusting,
	}
}

// answered returns scenarios with all pairs of consecutive actions, and with the other ways to
// answer.
func answered() []Scenario {
	return append(pairs(),
		scenario("decoupled-refused", "The payer refuses on the phone.", "refused", payment.CancelledByUser, label("actn(decoupled) - x"), moves(validate, refuses, checks), actions(payment.Decoupled)),
		scenario("decoupled-approved", "The payer approves on the phone before the client resumes the payment.", "done", "", label("actn(decoupled)/done - x"), moves(validate, approves, checks), actions(payment.Decoupled)),
		scenario("decoupled-slow", "The bank reports the approval only when it is asked a second time.", "done", "", label("actn(decoupled,2)/done - x"), moves(validate, resumes, resumes), actions(payment.Decoupled)),
		scenario("decoupled-never", "The payer never answers, and the payment expires.", "lapsed", "", label("actn(decoupled)/hold - x"), moves(validate, resumes, longOn), actions(payment.Decoupled)),
		scenario("fields-at-last", "The payer enters wrong values twice, and then the right ones.", "done", "", label("actn(fields)/done - x"),
			moves(validate, submits(wrongFields), submits(wrongFields), submits(rightFields)), actions(payment.FillFields)),
		scenario("fields-wrong", "The payer enters wrong values three times.", "refused", payment.InvalidValue, label("actn(fields)/done - x"),
			moves(validate, submits(wrongFields), submits(wrongFields), submits(wrongFields)), actions(payment.FillFields)),
		scenario("psu-no", "The payer does not validate.", "refused", payment.CancelledByUser, label("actn(psu)/done - x"), moves(validate, Move{Do: PSUValidate}), actions(payment.PSUValidation)),
		scenario("confirm-yes", "The client confirms the payment after the payer approved it.", "done", "", manual, moves(validate, approves, Move{Do: ConfirmOrder, Yes: true}), actions(payment.Redirect, payment.Confirm)),
		scenario("confirm-no", "The client does not confirm the payment after the payer approved it.", "refused", payment.ConfirmationRefused, manual, moves(validate, approves, Move{Do: ConfirmOrder}), actions(payment.Redirect, payment.Confirm)),
		scenario("account-without-funds", "The payer picks an account without funds on the bank’s page.", "refused", payment.InsufficientFunds,
			moves(validate, Move{Do: Decide, Decision: string(approve), Account: payers[1].number}), actions(payment.Redirect)),
	)
}

var wrongFields = map[string]string{"code": "4321", "device": "tablet"}

// yes maps the names of questions to the moves that answer them.
var yes = map[string]Move{
	"redirect": approves, "decoupled": resumes, "fields": submits(rightFields),
	"confirm": {Do: ConfirmOrder, Yes: true}, "psu": {Do: PSUValidate, Yes: true},
}

func pairs() []Scenario {
	var list []Scenario
	names := slices.Sorted(maps.Keys(yes))
	for _, first := range names {
		for _, second := range names {
			list = append(list, scenario("actions-"+first+"-"+second, "Two actions: "+first+", then "+second+".", "done", "",
				label(fmt.Sprintf("actn(%s)/actn(%s)/done - x", first, second)),
				moves(validate, yes[first], yes[second]), actions(slices.Compact([]payment.Action{questions[first].action, questions[second].action})...)))
		}
	}
	return list
}

// bulks returns scenarios with payments of several instructions.
func bulks() []Scenario {
	const done, accepted, rejected, pending = payment.InstructionDone, payment.InstructionAccepted, payment.InstructionRejected, payment.InstructionPending
	bulk := func(name, shows, path string, code payment.ErrorCode, ends []payment.InstructionState, labels ...string) Scenario {
		return scenario("bulk-"+name, shows, path, code, approved, states(ends...), func(s *Scenario) {
			s.Lines = nil
			for _, text := range labels {
				s.Lines = append(s.Lines, euros("5.00", text))
			}
		})
	}
	hold := bulk("hold", "One line of a bulk never becomes final.", "expired", "", []payment.InstructionState{done, pending}, "done - a", "hold - b")
	hold.Moves = append(hold.Moves, longOn)
	mixed := scenario("bulk-amounts", "Amounts also control the lines of a bulk.", "partial", "", approved, states(done, rejected, accepted),
		lines(euros("5.00", "a"), euros("7102.00", "b"), euros("7121.00", "c")))
	return []Scenario{
		bulk("done", "All lines are executed.", "done", "", []payment.InstructionState{done, done}, "a", "b"),
		bulk("rejected", "The label of the first instruction applies to all.", "rejected", payment.InvalidDate, []payment.InstructionState{rejected, rejected, rejected}, "pdng/rjct(invalidDate) - a", "b", "c"),
		bulk("partial", "Lines 2 and 4 are rejected.", "partial", "", []payment.InstructionState{done, rejected, done, rejected}, "pdng/part(2,4) - a", "b", "c", "d"),
		bulk("own-labels", "Each line has its own label.", "partial", "", []payment.InstructionState{done, rejected, accepted}, "done - a", "rjct(invalidBeneficiary) - b", "accp - c"),
		bulk("one-label", "Only the second line has a script.", "partial", "", []payment.InstructionState{done, rejected}, "a", "rjct - b"),
		bulk("accepted-and-rejected", "Accepted and rejected lines make a partial payment.", "partial", "", []payment.InstructionState{accepted, rejected}, "accp - a", "rjct - b"),
		bulk("done-and-accepted", "Done and accepted lines make an accepted payment.", "accepted", "", []payment.InstructionState{done, accepted}, "done - a", "accp - b"),
		bulk("accepted", "All lines are accepted.", "accepted", "", []payment.InstructionState{accepted, accepted}, "accp - a", "b"),
		bulk("all-rejected", "Each line is rejected for a different reason. The payment gets the first reason.", "rejected", payment.InvalidLabel,
			[]payment.InstructionState{rejected, rejected}, "rjct(invalidLabel) - a", "rjct(invalidBeneficiary) - b"),
		hold, mixed,
	}
}

// cancellations returns scenarios with requests to cancel an order that a bank has.
func cancellations() []Scenario {
	agreed := Move{Do: Decide, Decision: string(cancel)}
	kept := Move{Do: Decide, Decision: string(keep)}
	long := label("pdng:2d/done - Order 42")
	redirect := actions(payment.Redirect)
	refusedMove := func(code string) Move { return Move{Do: CancelOrder, Refused: code} }
	return []Scenario{
		scenario("cancel-approved", "The payer agrees to cancel.", "rejected", payment.CancelledByClient, long, cancelling, redirect, moves(validate, approves, checks, cancels, agreed)),
		scenario("cancel-refused", "The payer keeps the payment.", "done", "", long, cancelling, redirect, moves(validate, approves, checks, cancels, kept, days(2))),
		scenario("cancel-executed", "The bank executes the payment while the payer is deciding whether to cancel.", "done", "", long, cancelling, redirect, moves(validate, approves, checks, cancels, days(2))),
		scenario("cancel-validating", "The payer agrees to cancel before approving the payment.", "refused", payment.CancelledByClient, cancelling, redirect, moves(validate, cancels, agreed)),
		scenario("cancel-at-once", "A bank that cancels without asking the payer.", "rejected", payment.CancelledByClient, long, at(60), redirect, moves(validate, approves, checks, cancels)),
		scenario("cancel-denied", "The bank refuses to cancel.", "done", "", label("kept/pdng:2d/done - Order 42"), redirect, moves(validate, approves, checks, cancels, days(2))),
		scenario("cancel-unsupported", "A bank that cannot cancel.", "pending", "", long, at(58), redirect, moves(validate, approves, checks, refusedMove("notSupported"))),
		scenario("cancel-instant", "An instant payment cannot be cancelled.", "pending", "", long, ofType(payment.Instant, 0), redirect, moves(validate, approves, checks, refusedMove("conflict"))),
		scenario("cancel-twice", "A cancellation is already in progress.", "rejected", payment.CancelledByClient, long, cancelling, redirect, moves(validate, approves, checks, cancels, refusedMove("conflict"), agreed)),
		scenario("cancel-done", "A final payment cannot be cancelled.", "done", "", redirect, moves(validate, approves, refusedMove("conflict"))),
		scenario("cancel-series", "A series of payments is stopped halfway.", "rejected", payment.CancelledByClient, repeating("weekly", 0), cancelling, redirect,
			func(s *Scenario) { s.Ends.Occurrences = 2 }, moves(validate, approves, checks, days(8), cancels, agreed)),
	}
}

// repeating makes the payment a series from tomorrow on.
func repeating(frequency payment.Frequency, until int) func(*Scenario) {
	return func(s *Scenario) {
		ofType(payment.Periodic, 1)(s)
		s.Lines[0].Frequency, s.Lines[0].Until = frequency, until
		s.Settings = map[string]string{"payment.periodic.enabled": "1"}
	}
}

// spans maps each frequency to a number of days. Exactly one more occurrence falls within this
// number of days after the first occurrence.
var spans = map[payment.Frequency]int{
	"daily": 1, "weekly": 7, "two-weekly": 14, "monthly": 31, "two-monthly": 62, "quarterly": 92, "four-monthly": 123,
	"semiannually": 184, "yearly": 366,
}

// dated returns scenarios for the date types.
func dated() []Scenario {
	list := []Scenario{
		scenario("instant", "A payment that is executed at once.", "done", "", approved, ofType(payment.Instant, 0)),
		scenario("first-open-day", "A payment on the next banking day.", "done", "", approved, ofType(payment.FirstOpenDay, 0)),
		scenario("deferred", "A payment on a date that the client chooses.", "done", "", approved, ofType(payment.Deferred, 5)),
		scenario("deferred-hold", "A deferred payment expires long after its execution date.", "expired", "", ofType(payment.Deferred, 5), label("pdng/hold - x"),
			moves(validate, approves, days(36)), actions(payment.Redirect)),
		scenario("periodic-failing", "The second occurrence of a series fails, and the series continues.", "done", "", repeating("weekly", 15), label("fail(2,insufficientFunds) - x"),
			moves(validate, approves, days(16)), actions(payment.Redirect), func(s *Scenario) { s.Ends.Occurrences, s.Ends.Failed = 3, 1 }),
		scenario("periodic-endless", "A series without an end date stays pending.", "pending", "", repeating("daily", 0),
			moves(validate, approves, days(3)), actions(payment.Redirect), func(s *Scenario) { s.Ends.Occurrences = 3 }),
		scenario("periodic-accepted", "A bank that reports no occurrences accepts the series.", "accepted", "", repeating("monthly", 62), approved, at(62)),
		scenario("periodic-rejected", "The bank stops a series.", "rejected", payment.NoSpecifiedReason, repeating("monthly", 62), label("pdng/rjct - x"), approved),
	}
	for _, frequency := range payment.Frequencies() {
		list = append(list, scenario("periodic-"+string(frequency), "Two occurrences, "+string(frequency)+".", "done", "",
			repeating(frequency, 1+spans[frequency]), moves(validate, approves, days(int64(spans[frequency])+2)), actions(payment.Redirect),
			func(s *Scenario) { s.Ends.Occurrences = 2 }))
	}
	return list
}

// incompatible returns scenarios with payments that a bank does not accept, or that cause a
// warning.
func incompatible() []Scenario {
	one := func(id int64, code string, severity payment.Severity, shows string, change ...func(*Scenario)) Scenario {
		return scenario("incompatible-"+code, shows, "created", "", append([]func(*Scenario){at(id), func(s *Scenario) {
			s.Ends.Incompatible = []ScenarioReason{{code, severity}}
		}}, change...)...)
	}
	amount := func(text string) func(*Scenario) { return func(s *Scenario) { s.Lines[0].Amount = text } }
	count := func(n int) func(*Scenario) {
		return func(s *Scenario) { s.Lines = slices.Repeat([]ScenarioLine{s.Lines[0]}, n) }
	}
	two := one(56, "nspBulk", payment.Incompatible, "The bank has two reasons at the same time.", amount("600.00"), count(2))
	hidden := one(57, "maxBulk", payment.Incompatible, "The payment has too many lines for a hidden bank. With the parameter all, the list of incompatibilities includes hidden banks.", count(3))
	hidden.Name = "incompatible-hidden"
	two.Name, two.Ends.Incompatible = "incompatible-twice", append(two.Ends.Incompatible, ScenarioReason{"maxAmount", payment.Warning})
	return []Scenario{
		one(43, "maxAmount", payment.Warning, "More than the bank’s usual limit.", amount("1000.01")),
		one(44, "minAmount", payment.Incompatible, "Less than the bank’s minimum.", amount("9.99")),
		one(45, "maxBulk", payment.Incompatible, "More lines than the bank accepts.", count(4)),
		one(46, "maxDateDelta", payment.Incompatible, "An execution date that is too far away.", ofType(payment.Deferred, 31)),
		one(47, "minDateDelta", payment.Incompatible, "An execution date that is too soon.", ofType(payment.Deferred, 1)),
		one(48, "nspDateType", payment.Incompatible, "The bank has no instant payments.", ofType(payment.Instant, 0)),
		one(49, "nspFrequency", payment.Incompatible, "The bank has no daily payments.", repeating("daily", 3)),
		one(50, "nspBulk", payment.Incompatible, "The bank accepts no bulk payments.", count(2)),
		one(51, "nspBenefScheme", payment.Incompatible, "The bank does not pay to British accounts.", func(s *Scenario) {
			s.Lines[0].Currency, s.Lines[0].Beneficiary = "GBP", ScenarioAccount{passerelle.SortCode, "00000055779912", "Sandbox Shop"}
		}),
		one(52, "nspPayer", payment.Incompatible, "The bank does not use the payer’s account.", func(s *Scenario) {
			s.Payer = &ScenarioAccount{passerelle.IBAN, payers[0].number, payers[0].name}
		}),
		one(53, "nspExecDate", payment.Incompatible, "The bank does not execute on a Saturday.", ofType(payment.Deferred, 1), func(s *Scenario) { s.Lines[0].Saturday = true }),
		one(54, "nspCurrency", payment.Incompatible, "The bank does not pay in pounds.", func(s *Scenario) { s.Lines[0].Currency = "GBP" }),
		one(55, "trustBenef", payment.Warning, "The beneficiary must be trusted."),
		two, hidden,
	}
}

// odd returns scenarios with banks that send unusual or invalid reports.
func odd() []Scenario {
	redirect := actions(payment.Redirect)
	return []Scenario{
		scenario("odd-duplicate", "The bank reports the same status twice.", "done", "", label("pdng/dupl/done - x"), approved, again),
		scenario("odd-older", "The bank returns to an older status.", "done", "", label("pdng/back/done - x"), approved, again),
		scenario("odd-unknown", "The bank reports an unknown status.", "done", "", label("pdng/unkn/done - x"), approved, again),
		scenario("odd-code", "The bank refuses with an unknown code.", "refused", payment.NoSpecifiedReason, label("rjct(gremlins) - x"), approved),
		scenario("odd-markup", "The bank sends a message full of markup.", "refused", payment.BankMessage, label("html - x"), approved),
		scenario("odd-megabyte", "The bank sends a message of one megabyte.", "refused", payment.BankMessage, label("mega - x"), approved),
		scenario("odd-late", "The bank responds after the payment expired.", "expired", "", label("pdng/late(insufficientFunds) - x"), redirect,
			moves(validate, approves, checks, longOn, days(90), checks)),
	}
}
