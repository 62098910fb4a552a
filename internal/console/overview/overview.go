// Package overview has the first page of a domain in the operators' console. The page shows the
// domain's problems, and the state of its payments, banks and webhooks.
//
// The package owns the list of problems with their remedies, and the figures. Each figure comes
// from a limited number of rows. When a domain has many payments, the package caches their counts
// for a while. All viewers of the page then share one count.
//
// The package does not own the pages to which the problems link. It fails like package page.
package overview

import (
	"embed"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

//go:embed all:pages
var embedded embed.FS

var pages = page.MustPages(embedded)

// Config has the functions and values that the package needs from the service. Every field is
// required.
type Config struct {
	DB          *store.DB
	Aggregation *aggregation.Aggregation
	// Now returns the real time.
	Now func() time.Time
}

// handler serves the page.
type handler struct {
	Config
	volumes *volumes
}

// Routes returns the address of the page, with its handler.
func Routes(config Config) []page.Route {
	h := &handler{config, newVolumes(config)}
	return []page.Route{page.Get("domains/#", h.overview)}
}

// maxBars is the largest number of rows in a chart.
const maxBars = 10

// bar is a row of a chart. It has a label, a number as text, and a length in hundredths of the
// longest bar.
type bar struct {
	Label, Note, Count string
	Length             int64
	// Address is the list of the objects that the bar counts, or empty.
	Address string
}

// chart is a list of bars with a caption.
type chart struct {
	Caption string
	Bars    []bar
}

// overviewData is the content of the page.
type overviewData struct {
	// Concerns are the problems for the operator.
	Concerns []concern
	// Span is the shown period. Other is the period that a link on the page shows.
	Span, Other span
	// Columns are the payments that were registered in each part of the period. Now has the figures
	// of this period, and Before has the figures of the previous period.
	Columns     []column
	Now, Before figures
	Banks       []bankRow
	Charts      []chart
	// Requests is the number of webhook requests in the last 24 hours. Success is the percentage
	// that receivers accepted.
	Success  string
	Requests int64
	// Oldest is the payment that has waited longest, or nil.
	Oldest *oldest
	// Empty is set when no payment was registered in the period or the previous period. Earlier is
	// set when the domain has only older payments.
	Empty, Earlier bool
}

type oldest struct {
	ID         passerelle.PaymentID
	State      page.StateWord
	Age        string
	Registered page.When
}

func (h *handler) overview(pc *page.Context) error {
	var data overviewData
	for _, figure := range []func(*page.Context, *overviewData) error{h.attention, h.volumeFigures, h.healthFigures, h.oldestFigure} {
		if err := figure(pc, &data); err != nil {
			return fmt.Errorf("sum up domain %d: %w", pc.Domain.ID, err)
		}
	}
	return pages.Send(pc, "overview", pc.Domain.Name, data)
}

func (h *handler) attention(pc *page.Context, data *overviewData) error {
	var err error
	data.Concerns, err = h.concerns(pc)
	return err
}

// add adds a chart. The slices bars and counts have one entry for each row.
func (d *overviewData) add(caption string, bars []bar, counts []int64) {
	longest := int64(1)
	for _, n := range counts {
		longest = max(longest, n)
	}
	for i, n := range counts {
		bars[i].Count, bars[i].Length = countText(n), max(1, 100*n/longest)
	}
	d.Charts = append(d.Charts, chart{caption, bars})
}

func (h *handler) healthFigures(pc *page.Context, data *overviewData) error {
	health, err := h.DB.DomainHealth(pc, pc.Domain.ID, pc.Now())
	if data.Requests = health.Requests; health.Requests > 0 {
		data.Success = page.Percent(health.Successes, health.Requests)
	}
	return err
}

// waited describes how long something has waited.
func waited(d time.Duration) string {
	if d < time.Minute {
		return "under 1 min"
	}
	return page.Age(d)
}

// oldestFigure adds the payment that has waited longest for its final state.
func (h *handler) oldestFigure(pc *page.Context, data *overviewData) error {
	var first store.OpenPayment
	for _, state := range payment.States() {
		if state.Final() {
			continue
		}
		open, found, err := h.DB.OldestIn(pc, pc.Domain.ID, state)
		if err != nil {
			return err
		}
		if found && (first.ID == 0 || open.Registered.Before(first.Registered)) {
			first = open
		}
	}
	if first.ID != 0 {
		data.Oldest = &oldest{ID: first.ID, State: page.StateWord(first.State), Registered: pc.When(first.Registered), Age: waited(pc.Now().Sub(first.Registered))}
	}
	return nil
}
