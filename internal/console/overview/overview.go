// Package overview is the first page of the operators' console about a domain: what needs
// attention, and how its payments, banks and webhooks are doing.
//
// It owns that page: what counts as a concern, its remedy, and which figures there are. It
// reads each figure from a bounded number of rows. Where there are many payments it keeps
// what it read for a while, so that a page that many people watch costs no more than one.
//
// It fails as package page does.
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

// Config wires the package to the rest of the service. Every field is required.
type Config struct {
	DB          *store.DB
	Aggregation *aggregation.Aggregation
	// Now is the real clock.
	Now func() time.Time
}

// handler has the page.
type handler struct {
	Config
	volumes *volumes
}

// Routes is the address of the page, and who answers there.
func Routes(config Config) []page.Route {
	h := &handler{config, newVolumes(config)}
	return []page.Route{page.Get("domains/#", h.overview)}
}

// maxBars is how many rows a chart has.
const maxBars = 10

// bar is a row of a chart: a text, a number for people, and its length in hundredths of the
// longest.
type bar struct {
	Label, Note, Count string
	Length             int64
	// Address lists the counted rows, empty for none.
	Address string
}

// chart is rows under a caption.
type chart struct {
	Caption string
	Bars    []bar
}

// overviewData is how a domain is doing.
type overviewData struct {
	// Concerns need the operator.
	Concerns []concern
	// Span is the period that is shown, and Other leads to the other one.
	Span, Other span
	// Columns are the payments registered in each part of the period. Now are the figures of
	// the period, and Before those of the period before.
	Columns     []column
	Now, Before figures
	Banks       []bankRow
	Charts      []chart
	// Success is the share of requests to webhooks that were accepted, in percent,
	// and Requests how many there were.
	Success  string
	Requests int64
	// Oldest is the payment that has waited longest, nil for none.
	Oldest *oldest
	// Empty is set when no payment was registered lately.
	Empty bool
}

type oldest struct {
	ID         passerelle.PaymentID
	State, Age string
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

// add draws a chart of counts and their subjects.
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

// oldestFigure is the payment that has been waiting longest for its final state.
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
		data.Oldest = &oldest{ID: first.ID, State: string(first.State), Registered: pc.When(first.Registered), Age: page.Age(pc.Now().Sub(first.Registered))}
	}
	return nil
}
