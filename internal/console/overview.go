package console

import (
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

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
	// Hours are the payments of each of the last 24 hours, with their sum and that of the 24
	// hours before.
	Hours    []hourColumn
	Payments string
	Before   string
	Banks    []bankRow
	Charts   []chart
	// Success is the percentage of accepted webhook requests, and Requests their number.
	Success  string
	Requests int64
	// Oldest is the payment that has waited longest, nil for none.
	Oldest *oldest
	// Clock is the time of a sandbox, and Frozen that it stands still.
	Clock  string
	Frozen bool
	// Empty is set when no payment was registered lately.
	Empty bool
}

type oldest struct {
	ID         passerelle.PaymentID
	State, Age string
	Registered string
}

func (c *Console) overview(pc *page.Context) error {
	var data overviewData
	for _, figure := range []func(*page.Context, *overviewData) error{c.attention, c.volumeFigures, c.healthFigures, c.oldestFigure} {
		if err := figure(pc, &data); err != nil {
			return fmt.Errorf("sum up domain %d: %w", pc.Domain.ID, err)
		}
	}
	data.Clock, data.Frozen = passerelle.FormatDateTime(pc.Now(), pc.Zone), pc.Domain.Clock.Frozen != nil
	return pages.Send(pc, "overview", pc.Domain.Name, data)
}

func (c *Console) attention(pc *page.Context, data *overviewData) error {
	var err error
	data.Concerns, err = c.concerns(pc)
	return err
}

// add draws a chart of counts and their subjects.
func (d *overviewData) add(caption string, bars []bar, counts []int64) {
	longest := int64(1)
	for _, n := range counts {
		longest = max(longest, n)
	}
	for i, n := range counts {
		bars[i].Count, bars[i].Length = page.UpTo(n, store.MaxOverviewRows), max(1, 100*n/longest)
	}
	d.Charts = append(d.Charts, chart{caption, bars})
}

func (c *Console) healthFigures(pc *page.Context, data *overviewData) error {
	health, err := c.DB.DomainHealth(pc, pc.Domain.ID, pc.Now())
	if data.Requests = health.Requests; health.Requests > 0 {
		data.Success = page.Percent(health.Successes, health.Requests)
	}
	return err
}

// oldestFigure is the payment that has been waiting longest for its final state.
func (c *Console) oldestFigure(pc *page.Context, data *overviewData) error {
	var first store.OpenPayment
	for _, state := range payment.States() {
		if state.Final() {
			continue
		}
		open, found, err := c.DB.OldestIn(pc, pc.Domain.ID, state)
		if err != nil {
			return err
		}
		if found && (first.ID == 0 || open.Registered.Before(first.Registered)) {
			first = open
		}
	}
	if first.ID != 0 {
		data.Oldest = &oldest{
			ID: first.ID, State: string(first.State), Registered: passerelle.FormatDateTime(first.Registered, pc.Zone), Age: ageText(pc.Now().Sub(first.Registered)),
		}
	}
	return nil
}

// ageText writes a duration in its two largest units.
func ageText(d time.Duration) string {
	minutes := int64(max(d, 0) / time.Minute)
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d days %d h", minutes/(24*60), minutes/60%24)
}
