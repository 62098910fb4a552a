package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// side is one of the two programs of a row. A call is one measurement, in
// operations a second.
type side func(ctx context.Context) (float64, error)

// row is something the service does, and the limit it is held against.
type row struct {
	name string
	// limit says what the limit program does, and goal the least ratio to it.
	limit string
	goal  float64
	// open makes both sides, on a place of their own.
	open func(ctx context.Context, p *place) (ours, limit side, err error)
}

// outcome is a row that was measured.
type outcome struct {
	row
	ours, limits, ratios []float64
}

func (o options) measure(ctx context.Context, r row) (m outcome, err error) {
	p := &place{options: o}
	defer func() { err = errors.Join(err, p.close()) }()
	ours, limit, err := r.open(ctx, p)
	if err != nil {
		return m, err
	}
	m.row = r
	for n := range o.repeats {
		// In turn, for what warms up or wears out.
		order := []side{ours, limit}
		if n%2 == 1 {
			slices.Reverse(order)
		}
		var got [2]float64
		for i, one := range order {
			if got[i], err = one(ctx); err != nil {
				return m, err
			}
		}
		if n%2 == 1 {
			got[0], got[1] = got[1], got[0]
		}
		m.ours, m.limits, m.ratios = append(m.ours, got[0]), append(m.limits, got[1]), append(m.ratios, got[0]/got[1])
	}
	return m, nil
}

func (m outcome) passed() bool { return median(m.ratios) >= m.goal }

// String is the outcome in a line.
func (m outcome) String() string {
	verdict := "reached"
	if !m.passed() {
		verdict = "missed"
	}
	return fmt.Sprintf("%s: %.0f a second, limit %.0f, ratio %.2f (%.2f to %.2f), goal %.2f %s",
		m.name, median(m.ours), median(m.limits), median(m.ratios), slices.Min(m.ratios), slices.Max(m.ratios), m.goal, verdict)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// amount is a number of operations at the scale of the run.
func (o options) amount(usual int) int { return max(1, int(math.Round(float64(usual)*o.scale))) }
