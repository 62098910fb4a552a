package console

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// maxBars is how many rows a chart has.
const maxBars = 10

// bar is a row of a chart: a text, a number as people read it, and how long it
// is in hundredths of the longest.
type bar struct {
	Label, Note, Count string
	Length             int64
	// Address is where the rows are that were counted, empty for nowhere.
	Address string
}

// chart is rows under a caption.
type chart struct {
	Caption string
	Bars    []bar
}

// overviewData is how a domain is doing.
type overviewData struct {
	Charts []chart
	// Success is the share of requests to webhooks that were accepted, in percent,
	// and Requests how many there were.
	Success  string
	Requests int64
	// Oldest is the payment that has waited longest, nil when none waits.
	Oldest *oldest
	// Clock is the time of a sandbox, and Frozen that it stands still.
	Clock  string
	Frozen bool
}

type oldest struct {
	ID         passerelle.PaymentID
	State, Age string
	Registered string
}

func (c *Console) overview(pc *page.Context) error {
	var data overviewData
	for _, figure := range []func(*page.Context, *overviewData) error{
		c.paymentFigures, c.rejectionFigures, c.healthFigures, c.oldestFigure, c.troubleFigures,
	} {
		if err := figure(pc, &data); err != nil {
			return fmt.Errorf("sum up domain %d: %w", pc.Domain.ID, err)
		}
	}
	data.Clock, data.Frozen = passerelle.FormatDateTime(pc.Now(), pc.Zone), pc.Domain.Clock.Frozen != nil
	return pages.Send(pc, "home", pc.Domain.Name, data)
}

func (c *Console) since(pc *page.Context) time.Time { return pc.Now().Add(-24 * time.Hour) }

// add draws a chart of counts and what they are of.
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

// listOf is where the payments of the time are that a figure counts, by names of
// fields and their values.
func (c *Console) listOf(pc *page.Context, fields ...string) string {
	query := url.Values{"first": {c.since(pc).In(pc.Zone).Format(time.DateOnly)}}
	for i := 0; i+1 < len(fields); i += 2 {
		query.Set(fields[i], fields[i+1])
	}
	return pc.Path("/payments?%s", query.Encode())
}

func (c *Console) paymentFigures(pc *page.Context, data *overviewData) error {
	all, err := c.DB.PaymentStates(pc, pc.Domain.ID, c.since(pc))
	var (
		bars   []bar
		counts []int64
	)
	for _, one := range all {
		bars, counts = append(bars, bar{Label: string(one.State), Address: c.listOf(pc, "state", string(one.State))}), append(counts, one.Count)
	}
	data.add("Payments registered in 24 h, by state", bars, counts)
	return err
}

func (c *Console) rejectionFigures(pc *page.Context, data *overviewData) error {
	all, err := c.DB.Rejections(pc, pc.Domain.ID, c.since(pc), maxBars)
	var (
		bars   []bar
		counts []int64
	)
	for _, one := range all {
		note := one.Connector
		if note == "" {
			note = "no connector chosen"
		}
		connector := one.ConnectorUUID
		if connector == "" {
			connector = none
		}
		to := c.listOf(pc, "state", string(payment.Rejected), "code", string(one.Code), "connector", connector)
		bars, counts = append(bars, bar{Label: string(one.Code), Note: note, Address: to}), append(counts, one.Count)
	}
	data.add("Rejected among them, by code and connector", bars, counts)
	return err
}

func (c *Console) troubleFigures(pc *page.Context, data *overviewData) error {
	all, err := bankstore.From(c.DB).Troubles(pc, pc.Domain.ID)
	var (
		bars   []bar
		counts []int64
	)
	for _, one := range all[:min(len(all), maxBars)] {
		bars, counts = append(bars, bar{Label: one.State, Address: pc.Path("/connections?state=%s", url.QueryEscape(one.State))}), append(counts, one.Count)
	}
	data.add("Connections that cannot be read, by state", bars, counts)
	return err
}

func (c *Console) healthFigures(pc *page.Context, data *overviewData) error {
	health, err := c.DB.DomainHealth(pc, pc.Domain.ID, pc.Now())
	if data.Requests = health.Requests; health.Requests > 0 {
		data.Success = page.Percent(health.Successes, health.Requests)
	}
	return err
}

func (c *Console) oldestFigure(pc *page.Context, data *overviewData) error {
	open, err := c.DB.OldestOpen(pc, pc.Domain.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	data.Oldest = &oldest{
		ID: open.ID, State: string(open.State), Registered: passerelle.FormatDateTime(open.Registered, pc.Zone), Age: ageText(pc.Now().Sub(open.Registered)),
	}
	return err
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
