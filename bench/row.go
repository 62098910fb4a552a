package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"
)

// side is one of the two programs that a [row] compares. Each call is one measurement.
type side func(ctx context.Context) (measured, error)

// measured is the result of a measurement: a rate per second or another figure, and the processor
// time of this process.
type measured struct {
	figure    float64
	processor time.Duration
}

// timed measures an action that counts as n operations.
func timed(n int, do func() error) (measured, error) {
	before, started := processorTime(), time.Now()
	err := do()
	return measured{float64(n) / time.Since(started).Seconds(), processorTime() - before}, err
}

// row compares work of the service with a limit program or a budget. Most limit programs do the
// same work with the bare database driver, or are the service itself under other conditions.
type row struct {
	name string
	// limit describes the limit program. The field goal is the lowest allowed ratio to the limit
	// program, and the field most is the highest. Each of them can be zero, which sets no limit.
	limit      string
	goal, most float64
	// budget is the highest allowed figure, in the row's unit. If beyond is true, budget is the
	// highest allowed difference from the figure of the limit program.
	budget float64
	beyond bool
	unit   string
	// open returns both sides. No other row uses the place p. In some rows with a budget, the second
	// side is nil.
	open func(ctx context.Context, p *place) (ours, limit side, err error)
}

type outcome struct {
	row
	ours, limits, ratios []float64
	// processor holds the ratios of processor time for the same work. This time is that of the
	// whole process, including the clients.
	processor []float64
}

func (o options) measure(ctx context.Context, r row) (m outcome, err error) {
	p := &place{options: o}
	defer func() { err = errors.Join(err, p.close()) }()
	ours, limit, err := r.open(ctx, p)
	if err != nil {
		return m, err
	}
	if o.profiles != "" {
		ours = o.profiled(r.name, ours)
	}
	m.row = r
	for n := range o.repeats {
		if err := m.again(ctx, [2]side{ours, limit}, n%2 == 1); err != nil {
			return m, err
		}
	}
	return m, nil
}

// again measures both sides. The caller alternates which side is first, so that neither side gains
// from running first or second.
func (m *outcome) again(ctx context.Context, sides [2]side, limitFirst bool) error {
	var err error
	order := []int{0, 1}
	if limitFirst {
		slices.Reverse(order)
	}
	var got [2]measured
	for _, i := range order {
		if sides[i] == nil {
			continue
		}
		if got[i], err = sides[i](ctx); err != nil {
			return err
		}
	}
	m.ours = append(m.ours, got[0].figure)
	if sides[1] != nil {
		m.limits, m.ratios = append(m.limits, got[1].figure), append(m.ratios, got[0].figure/got[1].figure)
		m.processor = append(m.processor, float64(got[1].processor)/float64(got[0].processor))
	}
	return nil
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // the arguments of the call are wrong
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (m outcome) passed() bool {
	switch {
	case m.beyond:
		return median(m.ours) <= median(m.limits)+m.budget
	case m.budget > 0:
		return median(m.ours) <= m.budget
	case m.most > 0 && median(m.ratios) > m.most:
		return false
	}
	return median(m.ratios) >= m.goal
}

func (m outcome) cells() [5]string {
	if m.unit == "" {
		return [5]string{fmt.Sprintf("%.0f", median(m.ours)), fmt.Sprintf("%.0f", median(m.limits)), spread(m.ratios, "%.2f"), fmt.Sprintf("%.2f", median(m.processor)), m.wanted()}
	}
	figure := func(all []float64) string {
		if len(all) == 0 {
			return ""
		}
		return spread(all, "%.1f")
	}
	ratio := ""
	if m.budget == 0 {
		ratio = spread(m.ratios, "%.2f")
	}
	return [5]string{figure(m.ours) + " " + m.unit, figure(m.limits), ratio, "", m.wanted()}
}

func (m outcome) wanted() string {
	switch {
	case m.beyond:
		return fmt.Sprintf("at most %g %s more", m.budget, m.unit)
	case m.budget > 0:
		return fmt.Sprintf("at most %g %s", m.budget, m.unit)
	case m.goal == 0:
		return fmt.Sprintf("at most %.2f", m.most)
	case m.most > 0:
		return fmt.Sprintf("%.2f to %.2f", m.goal, m.most)
	}
	return fmt.Sprintf("%.2f", m.goal)
}

// spread formats the median with the least and the greatest value.
func spread(all []float64, format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(all), slices.Min(all), slices.Max(all))
}

func (m outcome) result() string {
	if m.passed() {
		return "reached"
	}
	return "**missed**"
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// amount returns a number of operations at the scale of the run.
func (o options) amount(usual int) int { return max(1, int(math.Round(float64(usual)*o.scale))) }
