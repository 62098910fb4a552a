package sandbox

import (
	"cmp"
	"slices"
	"time"

	"passerelle"
	"passerelle/payment"
)

// plan is what the bank will do with an order. It is made when the order arrives, and stored
// with it.
type plan struct {
	Steps []step `json:"steps"`
	// Misses are the occurrences of a series that fail, by position from 1.
	Misses []miss `json:"misses,omitempty"`
	// Keeps makes the bank refuse to cancel.
	Keeps bool `json:"keeps,omitempty"`
	// Trusting orders need no confirmation by the client, and Silent ones no approval by a
	// payer.
	Trusting bool `json:"trusting,omitempty"`
	Silent   bool `json:"silent,omitempty"`
}

// verb is the kind of a step.
type verb string

const (
	// ask waits for an answer.
	ask verb = "ask"
	// pend works on an approved order for a time.
	pend verb = "pend"
	// rest repeats the same report for a time.
	rest verb = "rest"
	// say reports something odd, a few times.
	say verb = "say"
	// lose loses the answer to the order's arrival, slow delays it.
	lose verb = "lose"
	slow verb = "slow"
	// mute never answers again.
	mute verb = "mute"
	// series runs the occurrences of a periodic order.
	series verb = "series"
	// end ends the order.
	end verb = "end"
)

// forever is the length of a step without end.
const forever time.Duration = -1

// step is one action of the bank. Each verb reads the members it needs.
type step struct {
	Do verb `json:"do"`
	// What is the question of an ask, or the report of a say.
	What string `json:"what,omitempty"`
	// Wait is how long the step lasts, and for an ask how long a payer takes.
	Wait time.Duration `json:"wait,omitempty"`
	// Day is the day before which the step does not end, in the form YYYY-MM-DD.
	Day string `json:"day,omitempty"`
	// Times is how often a say reports, or a decoupled payer is asked.
	Times int `json:"times,omitempty"`
	// Ending is the final state of all lines, and Lines has the states of single lines.
	Ending ending       `json:"ending,omitzero"`
	Lines  []lineEnding `json:"lines,omitempty"`
}

// ending is how a line ends.
type ending struct {
	State payment.InstructionState `json:"state"`
	Code  payment.ErrorCode        `json:"code,omitempty"`
	Text  string                   `json:"text,omitempty"`
	By    payment.Actor            `json:"by,omitempty"`
}

// lineEnding is how one line ends, a while after the others.
type lineEnding struct {
	Position int           `json:"position"`
	Wait     time.Duration `json:"wait,omitempty"`
	Ending   ending        `json:"ending"`
}

// miss is an occurrence of a series that fails.
type miss struct {
	Number int               `json:"number"`
	Code   payment.ErrorCode `json:"code"`
}

// finished reports whether the plan has its end.
func (p *plan) finished() bool {
	return len(p.Steps) > 0 && slices.Contains([]verb{end, mute}, p.Steps[len(p.Steps)-1].Do)
}

// has reports whether a step is of one of the kinds.
func (p *plan) has(verbs ...verb) bool {
	return slices.ContainsFunc(p.Steps, func(s step) bool { return slices.Contains(verbs, s.Do) })
}

// worktime is how long the plan is at work before it ends.
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
	// usual is the word by which the bank ends orders.
	usual string
	// unsaid is set for orders without a script.
	unsaid bool
	// ignored are the steps of scripts that meant nothing.
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

// chosen is the script of the use case, or the order's own when the use case has none.
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

// play appends the steps of a script until it ends the order.
func (p *planner) play(s script) {
	p.ignored = append(p.ignored, s.ignored...)
	for _, c := range s.calls {
		if p.finished() || !words[c.word](p, c) {
			p.ignored = append(p.ignored, c.word)
		}
	}
}

// finish ends the order as the bank usually does, if nothing else did, and
// gives a use case its own words.
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

// opening is where the payer's part of the plan begins: after what happens to
// the answer to the order's arrival.
func (p *planner) opening() int {
	for i, s := range p.Steps {
		if s.Do != slow && s.Do != lose {
			return i
		}
	}
	return len(p.Steps)
}

// approve adds the payer's approval on the bank's page, unless the plan asks for something else
// or ends earlier.
func (p *planner) approve() {
	at := p.opening()
	first := p.Steps[at]
	early := first.Do == end && first.Ending.Code == payment.Bug
	if p.Silent || early || p.has(ask, lose, mute) {
		return
	}
	p.Steps = slices.Insert(p.Steps, at, step{Do: ask, What: "redirect"})
}

// confirm makes the client confirm what the payer approved. An order that is not executed is
// not confirmed, and none is confirmed twice.
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

// bulk sets the endings of the lines that have a script of their own. A label of the first line
// steers all lines, whereas its amount or beneficiary steers only that line.
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

// lineEnding is what a script means for one line: its end, and how long after the others.
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
