// Package progress shows the progress of long work. On a terminal, it shows a bar, unless the
// caller requests JSON. Otherwise it writes a line every ten seconds, in words or as JSON.
//
// The package owns the display: what it shows, and when. The work itself reports from any goroutine
// how much is done. The package ignores errors of writing, because a failed display must not stop
// the work.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// These are the intervals between lines, and between updates of the bar.
const (
	lineEvery = 10 * time.Second
	drawEvery = 200 * time.Millisecond
)

// Bytes is the unit of sizes. A bar shows sizes in kB, MB and GB.
const Bytes = "bytes"

// Meter shows the progress of a piece of work. A nil Meter shows nothing. Methods are safe for
// concurrent use.
type Meter struct {
	out   io.Writer
	json  bool
	work  string
	bar   *progressbar.ProgressBar
	over  chan struct{}
	ended chan struct{}

	mu          sync.Mutex
	unit        string
	done, total int64
	began       time.Time
}

// Start returns a Meter that shows the progress of work, such as "backup", until End. With asJSON,
// each line is a JSON object, even on a terminal.
func Start(out io.Writer, asJSON bool, work string) *Meter {
	m := &Meter{out: out, json: asJSON, work: work, began: time.Now(), over: make(chan struct{}), ended: make(chan struct{})}
	draw, every := m.line, lineEvery
	if !asJSON && isTerminal(out) {
		draw, every = m.draw, drawEvery
	}
	go m.show(draw, every)
	return m
}

func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	if !is {
		return false
	}
	stat, err := file.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// Expect sets the total amount of work, and its unit. The total is zero when it is unknown.
func (m *Meter) Expect(total int64, unit string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total, m.unit = total, unit
}

// At sets the amount of work that is done.
func (m *Meter) At(done int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = done
}

// End removes the bar. It does not remove lines.
func (m *Meter) End() {
	if m == nil {
		return
	}
	close(m.over)
	<-m.ended
}

func (m *Meter) show(draw func(state), every time.Duration) {
	defer close(m.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			draw(m.state())
		case <-m.over:
			m.clear()
			return
		}
	}
}

// clear removes the bar, if there is one.
func (m *Meter) clear() {
	if m.bar != nil {
		_ = m.bar.Clear() // an error would only affect the display
	}
}

// state is the progress of the work at one moment. Rate and Left are zero while they are unknown.
type state struct {
	Work  string `json:"work"`
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	Unit  string `json:"unit"`
	Rate  int64  `json:"per_second"`
	Left  int64  `json:"seconds_left,omitempty"`
}

func (m *Meter) state() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := state{Work: m.work, Done: m.done, Total: max(m.total, 0), Unit: m.unit}
	if s.Total > 0 {
		s.Done = min(s.Done, s.Total) // rows may have been added after the total was counted
	}
	if spent := time.Since(m.began).Seconds(); spent > 0 {
		s.Rate = int64(float64(s.Done) / spent)
	}
	if s.Rate > 0 && s.Total > 0 {
		s.Left = (s.Total - s.Done + s.Rate - 1) / s.Rate
	}
	return s
}

// line writes the state as a line.
func (m *Meter) line(s state) {
	if m.json {
		_ = json.NewEncoder(m.out).Encode(s) // an error has no effect on the work
		return
	}
	fmt.Fprintln(m.out, s)
}

// String returns the state in words. Before the first call of Expect, no amount is known.
func (s state) String() string {
	if s.Unit == "" {
		return s.Work + ": preparing"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d", s.Work, s.Done)
	if s.Total > 0 {
		fmt.Fprintf(&b, " of %d", s.Total)
	}
	fmt.Fprintf(&b, " %s, %d a second", s.Unit, s.Rate)
	if s.Left > 0 {
		fmt.Fprintf(&b, ", %v left", time.Duration(s.Left)*time.Second)
	}
	return b.String()
}

// draw updates the bar. The bar appears after the first call of Expect.
func (m *Meter) draw(s state) {
	if s.Unit == "" {
		return
	}
	total := s.Total
	if total == 0 {
		total = -1 // the total is unknown
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(m.out), progressbar.OptionSetDescription(m.work), progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(s.Unit), progressbar.OptionShowBytes(s.Unit == Bytes),
			progressbar.OptionShowTotalBytes(true), progressbar.OptionSetPredictTime(true))
	}
	if m.bar.GetMax64() != total {
		m.bar.ChangeMax64(total)
	}
	_ = m.bar.Set64(s.Done) // an error would only affect the display
}
