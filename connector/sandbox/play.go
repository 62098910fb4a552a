package sandbox

import (
	"errors"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// errMute is the error of a bank that does not respond.
var errMute = errors.New("the sandbox bank does not respond")

// advance goes past all steps that have ended. The argument now is the domain's present time.
// advance reports whether anything changed.
func (o *order) advance(now time.Time) bool {
	var changed bool
	if o.cancelled() {
		return false
	}
	for {
		if o.Since == nil {
			o.Since, changed = &now, true
		}
		over, at := o.stepEnded(now)
		if !over {
			return o.endLines(now) || changed
		}
		o.next(&at)
		changed = true
	}
}

// endLines sets LinesEnded when the step has instructions with an end of their own, and all of
// these have ended. It reports whether it has set LinesEnded.
func (o *order) endLines(now time.Time) bool {
	if o.step().Do != end || !o.waiting() {
		return false
	}
	for _, l := range o.step().Lines {
		if over, _ := o.passed(step{Wait: l.Wait}, now); !over {
			return false
		}
	}
	o.LinesEnded = true
	return true
}

// stepEnded reports whether the step has ended, and when.
func (o *order) stepEnded(now time.Time) (bool, time.Time) {
	s := o.step()
	switch s.Do {
	case lose, slow:
		return true, *o.Since
	case say:
		return o.Tries >= s.Times, now
	case pend, rest:
		return o.passed(s, now)
	case series:
		return o.completed(now)
	default:
		return false, now
	}
}

// passed reports whether the duration of a step has passed, and when.
func (o *order) passed(s step, now time.Time) (bool, time.Time) {
	until := o.Since.Add(s.Wait)
	if day, err := passerelle.ParseDate("day", s.Day); err == nil && day.In(time.UTC).After(until) {
		until = day.In(time.UTC)
	}
	return s.Wait != forever && !now.Before(until), until
}

// speak reports whether the verb of the present step is say. If so, it also counts a report.
func (o *order) speak() bool {
	counts := o.step().Do == say
	if counts {
		o.Tries++
	}
	return counts
}

// answer applies an answer to the open question. It reports whether the answer belongs to the
// question.
func (o *order) answer(a connector.Answer, now time.Time) bool {
	s := o.step()
	q := questions[s.What]
	if s.Do != ask || q.action != a.Action || o.cancelled() {
		return false
	}
	o.Tries++
	switch what, e := o.judge(s, q, a, now); what {
	case goOn:
		o.next(&now)
	case endIt:
		o.conclude(e)
	case waitOn: // only counts the attempt
	}
	return true
}

// judge returns the effect of an answer.
func (o *order) judge(s step, q question, a connector.Answer, now time.Time) (judgement, ending) {
	switch {
	case q.form != nil:
		return q.form.judge(a.Fields, o.Tries)
	case !a.Yes:
		return endIt, q.no
	case now.Before(o.Since.Add(s.Wait)) || o.Tries < s.Times:
		return waitOn, ending{}
	}
	return goOn, ending{}
}

// scene is an order at an instant, as its client sees it.
type scene struct {
	*order
	now time.Time
	// page is the address of the order's page.
	page string
}

// reports maps verbs to the bank's reports during their steps.
var reports = map[verb]func(scene, step) payment.Report{
	ask:    scene.asking,
	pend:   scene.pending,
	rest:   scene.resting,
	say:    scene.saying,
	end:    scene.ending,
	series: scene.running,
}

// report returns the bank's report about an order.
func (s scene) report() (payment.Report, error) {
	if s.cancelled() {
		return s.cancellation(payment.Report{})
	}
	step, able := reports[s.step().Do]
	if !able {
		return payment.Report{}, errMute
	}
	r := step(s, s.step())
	if s.ran() {
		r.Occurrences, _ = s.occurrences(s.now)
	}
	return s.cancellation(r)
}

func (s scene) asking(step) payment.Report {
	q, asked := s.question()
	r := payment.Report{Status: payment.Awaiting, Action: q.action, Description: s.speech().Say(q.text), Raw: "awaiting"}
	if !asked {
		r.Action = payment.Redirect
	}
	if r.Action == payment.Redirect {
		r.ValidateURI = s.page
	}
	if q.loaded {
		r.ValidateURI += "?" + approval
	}
	if q.form != nil {
		r.Fields = s.speech().Fields(q.form.fields)
	}
	return r
}

func (s scene) pending(at step) payment.Report {
	r := payment.Report{Status: payment.Processing, Raw: "approved"}
	if _, until := s.passed(at, s.now); at.Wait != forever && until.After(s.now) {
		r.CheckAfter = until.Sub(s.now)
	}
	return r
}

// resting returns the report of an order that waits. It returns pending if the bank already
// processes the order, and otherwise asking.
func (s scene) resting(at step) payment.Report {
	if s.worked() {
		return s.pending(at)
	}
	return s.asking(at)
}

// utterances maps names to unusual reports.
var utterances = map[string]func(scene) payment.Report{
	"processing": func(s scene) payment.Report { return s.pending(step{Wait: forever}) },
	"older":      func(s scene) payment.Report { return s.asking(step{}) },
	"unknown": func(scene) payment.Report {
		return payment.Report{Status: "teleported", Code: "gremlins", Raw: "teleported"}
	},
}

func (s scene) saying(at step) payment.Report { return utterances[at.What](s) }

// ending reports the states of all instructions that have ended so far. An order that is rejected
// before the bank begins to process it is declined as a whole.
func (s scene) ending(at step) payment.Report {
	e := at.Ending
	if len(at.Lines) == 0 && e.State == payment.InstructionRejected && !s.worked() {
		return payment.Report{Status: payment.Declined, Code: e.Code, Description: e.spoken(s.speech()), By: e.By, Raw: raws[e.State]}
	}
	r := payment.Report{Status: payment.Settled, By: e.By, Raw: raws[e.State]}
	wait := s.lines(at, &r)
	if wait > 0 || len(r.Lines) < len(s.Lines) {
		r.Status, r.Raw, r.CheckAfter = payment.Processing, "approved", wait
	}
	return r
}

var raws = map[payment.InstructionState]string{
	payment.InstructionDone: "executed", payment.InstructionAccepted: "accepted", payment.InstructionRejected: "refused",
}

// lines adds ended instructions to a report, and returns the time until the next one ends.
func (s scene) lines(at step, r *payment.Report) time.Duration {
	var next time.Duration
	own := map[int]lineEnding{}
	for _, l := range at.Lines {
		own[l.Position] = l
	}
	for i := range s.Lines {
		l, its := own[i]
		if !its {
			l = lineEnding{Position: i, Ending: at.Ending}
		}
		over, when := s.passed(step{Wait: l.Wait}, s.now)
		if over {
			r.Lines = append(r.Lines, s.line(l, when))
		} else if wait := when.Sub(s.now); l.Wait != forever && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}

// line returns the report of an instruction that has ended. The day of execution is the later of
// the order's day and the day on which the instruction ended.
func (s scene) line(l lineEnding, when time.Time) payment.Line {
	e := l.Ending
	line := payment.Line{Position: l.Position, State: e.State, Code: e.Code, Description: e.spoken(s.speech())}
	if e.State != payment.InstructionDone {
		return line
	}
	line.Executed = passerelle.DateOf(when, time.UTC)
	if day, err := passerelle.ParseDate("day", s.Day); err == nil && day.Compare(line.Executed) > 0 {
		line.Executed = day
	}
	return line
}
