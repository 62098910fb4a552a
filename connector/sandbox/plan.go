package sandbox

import (
	"cmp"
	"slices"
	"time"

	"passerelle"
	"passerelle/payment"
)

// plan lists the actions of the bank for an order. The bank makes the plan when the order arrives,
// and stores the plan with the order.
type plan struct {
	Steps []step `json:"steps"`
	// Misses lists the failing occurrences of a series. Occurrences count from 1.
	Misses []miss `json:"misses,omitempty"`
	// Keeps makes the bank refuse to cancel.
	Keeps bool `json:"keeps,omitempty"`
	// Trusting means that the client need not confirm the order. Silent means that the payer need
	// not approve the order.
	Trusting bool `json:"trusting,omitempty"`
	Silent   bool `json:"silent,omitempty"`
}

// verb is the kind of a step.
type verb string

const (
	// ask waits for an answer.
	ask verb = "ask"
	// pend processes an approved order for a time.
	pend verb = "pend"
	// rest repeats the last report for a time.
	rest verb = "rest"
	// say makes an unusual report one or more times.
	say verb = "say"
	// lose loses the response to Initiate, and slow delays the response.
	lose verb = "lose"
	slow verb = "slow"
	// mute never responds again.
	mute verb = "mute"
	// series runs the occurrences of a periodic order.
	series verb = "series"
	// end ends the order.
	end verb = "end"
)

// forever is the duration of a step that never ends.
const forever time.Duration = -1

// step is one action of the bank. Each verb uses only some of the fields.
type step struct {
	Do verb `json:"do"`
	// What names the question of the verb ask, or the report of the verb say.
	What string `json:"what,omitempty"`
	// Wait is the duration of the step. For the verb ask, it is the time that a payer takes.
	Wait time.Duration `json:"wait,omitempty"`
	// Day is the earliest day on which the step may end, in the form YYYY-MM-DD.
	Day string `json:"day,omitempty"`
	// Times is the number of reports for the verb say, or how often a decoupled payer is asked.
	Times int `json:"times,omitempty"`
	// Ending is the final state of all instructions. Lines contains different states for single
	// instructions.
	Ending ending       `json:"ending,omitzero"`
	Lines  []lineEnding `json:"lines,omitempty"`
}

// ending is the final state of an instruction, with its code.
type ending struct {
	State payment.InstructionState `json:"state"`
	Code  payment.ErrorCode        `json:"code,omitempty"`
	Text  string                   `json:"text,omitempty"`
	By    payment.Actor            `json:"by,omitempty"`
}

// lineEnding is the ending of one instruction. Instructions may end at different times.
type lineEnding struct {
	Position int           `json:"position"`
	Wait     time.Duration `json:"wait,omitempty"`
	Ending   ending        `json:"ending"`
}

// miss is a failing occurrence of a series.
type miss struct {
	Number int               `json:"number"`
	Code   payment.ErrorCode `json:"code"`
}

// finished reports whether no step can follow the last one.
func (p *plan) finished() bool {
	return len(p.Steps) > 0 && slices.Contains([]verb{end, mute}, p.Steps[len(p.Steps)-1].Do)
}

// has reports whether a step has one of the verbs.
func (p *plan) has(verbs ...verb) bool {
	return slices.ContainsFunc(p.Steps, func(s step) bool { return slices.Contains(verbs, s.Do) })
}

// worktime returns how long the bank processes the order before the order ends.
func (p *plan) worktime() time.Duration {
	var total time.Duration
	for _, s := range p.Steps {
		if s.Wait == forever {
			return forever
		}
		if s.Do == pend || s.Do == rest {
			total += s.Wait
		}
	}
	return total
}

// planner makes the plan of an order.
type planner struct {
	plan
	timing Timing
	order  *order
	// usual is the script word with which the bank ends orders by default.
	usual string
	// unsaid means that the order has no script.
	unsaid bool
	// ignored are the meaningless steps of scripts.
	ignored []string
}

// planned returns the plan of a new order, and the ignored parts of its scripts.
func planned(o *order, b bank, u useCase, timing Timing, manual bool) (plan, []string) {
	p := &planner{timing: timing, order: o, usual: cmp.Or(b.usual, "done")}
	p.play(p.chosen(u))
	p.finish(u)
	p.approve()
	p.bulk(u)
	if manual {
		p.confirm()
	}
	return p.plan, p.ignored
}

// chosen returns the script of the use case or, without one, the order's own script. The default
// script applies if neither exists.
func (p *planner) chosen(u useCase) script {
	if u.script != "" {
		return readScript(u.script)
	}
	if s, found := p.order.script(); found {
		return s
	}
	p.unsaid = true
	return readScript(unsaid)
}

// play appends the steps of a script. It ignores steps after the end of the order.
func (p *planner) play(s script) {
	p.ignored = append(p.ignored, s.ignored...)
	for _, c := range s.calls {
		if p.finished() || !words[c.word](p, c) {
			p.ignored = append(p.ignored, c.word)
		}
	}
}

// finish adds the bank's usual end if the plan has no end. If the order ends as rejected, finish
// replaces the text of the rejection with the text of the use case, if any.
func (p *planner) finish(u useCase) {
	if !p.finished() {
		words[p.usual](p, call{})
	}
	if last := &p.Steps[len(p.Steps)-1]; last.Ending.State == payment.InstructionRejected {
		last.Ending.Text = cmp.Or(u.text, last.Ending.Text)
	}
}

func (p *planner) add(s step) bool {
	p.Steps = append(p.Steps, s)
	return true
}

// opening returns the index of the first step that is neither slow nor lose. Those two verbs only
// affect the response to Initiate.
func (p *planner) opening() int {
	for i, s := range p.Steps {
		if s.Do != slow && s.Do != lose {
			return i
		}
	}
	return len(p.Steps)
}

// approve adds the payer's approval on the bank's page. It adds no approval if the payer need not
// approve, if the plan begins with an ending that has the code bug, or if the plan has the verb
// ask, lose or mute.
func (p *planner) approve() {
	at := p.opening()
	first := p.Steps[at]
	early := first.Do == end && first.Ending.Code == payment.Bug
	if p.Silent || early || p.has(ask, lose, mute) {
		return
	}
	p.Steps = slices.Insert(p.Steps, at, step{Do: ask, What: "redirect"})
}

// confirm makes the client confirm the payer's approval. It adds no confirmation if the client need
// not confirm, if the last question is a confirmation, if the bank rejects the order right after
// the questions, or if the plan has the verb lose or mute.
func (p *planner) confirm() {
	at := p.opening()
	for p.Steps[at].Do == ask {
		at++
	}
	asked := at > 0 && p.Steps[at-1].What == "confirm"
	refused := p.Steps[at].Do == end && p.Steps[at].Ending.State == payment.InstructionRejected
	if p.Trusting || asked || refused || p.has(lose, mute) {
		return
	}
	p.Steps = slices.Insert(p.Steps, at, step{Do: ask, What: "confirm"})
}

// bulk sets the endings of instructions that have their own script. A script in the label of the
// first instruction affects all instructions. If instead the amount or beneficiary of the first
// instruction selects a script, the script affects only that instruction.
func (p *planner) bulk(u useCase) {
	last := &p.Steps[len(p.Steps)-1]
	if u.script != "" || last.Do != end || len(p.order.Lines) == 1 {
		return
	}
	for i, l := range p.order.Lines {
		s, found := l.script(passerelle.Currency(p.order.Currency))
		if i == 0 && l.labelled() || !found {
			continue
		}
		if e, is := p.lineEnding(s); is {
			e.Position = i
			last.Lines = append(slices.DeleteFunc(last.Lines, e.same), e)
		}
	}
}

func (e lineEnding) same(other lineEnding) bool { return e.Position == other.Position }

// lineEnding converts a script to the ending of one instruction, with its delay.
func (p *planner) lineEnding(s script) (lineEnding, bool) {
	own := &planner{timing: p.timing, order: p.order, usual: p.usual}
	own.play(s)
	p.ignored = append(p.ignored, own.ignored...)
	own.finish(useCase{})
	last, wait := own.Steps[len(own.Steps)-1], own.worktime()
	if wait != forever {
		wait = max(0, wait-p.worktime())
	}
	return lineEnding{Wait: wait, Ending: last.Ending}, last.Do == end
}
