package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// hourColumn is a column of the chart by hours. Heights are in hundredths of the highest.
type hourColumn struct {
	X, Good, Rejected, Rest, Before int64
	Text                            string
}

// bankRow is the results of payments through a bank.
type bankRow struct {
	Name, Address              string
	Registered, Good, Rejected string
}

// hoursShown is how many hours the overview shows, beside as many before them.
const hoursShown = 24

// goodStates are the states after a bank executed or accepted a payment or a part of it.
var goodStates = []payment.State{payment.Done, payment.Accepted, payment.Partial}

// counts are the results of some payments.
type counts struct{ registered, good, rejected int64 }

func (n *counts) add(v store.Volume) {
	n.registered += v.Count
	if v.State == payment.Rejected {
		n.rejected += v.Count
	}
	if slices.Contains(goodStates, v.State) {
		n.good += v.Count
	}
}

// volumeFigures are the payments of recent hours: by hour beside the day before, by bank, by
// state, and by reason of rejection.
func (c *Console) volumeFigures(pc *page.Context, data *overviewData) error {
	last := pc.Now().Unix() / 3600
	first := last - hoursShown + 1
	all, err := c.DB.Volumes(pc, pc.Domain.ID, time.Unix((first-hoursShown)*3600, 0))
	if err != nil {
		return err
	}
	var now, before counts
	hours := map[int64]*counts{}
	for hour := first - hoursShown; hour <= last; hour++ {
		hours[hour] = &counts{}
	}
	recent := all[:0:0]
	for _, v := range all {
		if one := hours[v.Hour]; one != nil {
			one.add(v)
		}
		if v.Hour < first {
			before.add(v)
			continue
		}
		now.add(v)
		recent = append(recent, v)
	}
	data.Payments, data.Before, data.Empty = countText(now.registered), countText(before.registered), len(all) == 0
	data.Hours = hourColumns(pc, hours, first)
	c.bankFigures(pc, data, recent)
	c.stateFigures(pc, data, recent)
	c.rejectionFigures(pc, data, recent)
	return nil
}

func countText(n int64) string { return page.UpTo(n, store.MaxOverviewRows) }

// hourColumns are the columns of the chart, from an hour on.
func hourColumns(pc *page.Context, hours map[int64]*counts, first int64) []hourColumn {
	highest := int64(1)
	for _, one := range hours {
		highest = max(highest, one.registered)
	}
	height := func(n int64) int64 { return 100 * n / highest }
	columns := make([]hourColumn, hoursShown)
	for i := range columns {
		hour := first + int64(i)
		n, before := hours[hour], hours[hour-hoursShown]
		begin := time.Unix(hour*3600, 0).In(pc.Zone).Format("15:04")
		columns[i] = hourColumn{
			X: 10 * int64(i), Good: height(n.good), Rejected: height(n.rejected), Rest: height(n.registered - n.good - n.rejected), Before: height(before.registered),
			Text: fmt.Sprintf("%s: %d registered, %d done or accepted, %d rejected; a day before %d", begin, n.registered, n.good, n.rejected, before.registered),
		}
	}
	return columns
}

// grouped adds volumes up by a key, the largest first, at most maxBars of them.
func grouped[K cmp.Ordered](all []store.Volume, key func(store.Volume) (K, bool)) ([]K, map[K]*counts) {
	sums := map[K]*counts{}
	var keys []K
	for _, v := range all {
		k, has := key(v)
		if !has {
			continue
		}
		if sums[k] == nil {
			sums[k], keys = &counts{}, append(keys, k)
		}
		sums[k].add(v)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(sums[b].registered, sums[a].registered), cmp.Compare(a, b))
	})
	return keys[:min(len(keys), maxBars)], sums
}

func (c *Console) bankFigures(pc *page.Context, data *overviewData, recent []store.Volume) {
	names := map[string]string{"": "no bank chosen"}
	uuids, sums := grouped(recent, func(v store.Volume) (string, bool) {
		if v.ConnectorUUID != "" {
			names[v.ConnectorUUID] = v.Connector
		}
		return v.ConnectorUUID, v.ConnectorUUID != ""
	})
	for _, uuid := range uuids {
		n := sums[uuid]
		data.Banks = append(data.Banks, bankRow{
			Name: names[uuid], Address: c.listOf(pc, "connector", uuid), Registered: countText(n.registered),
			Good: page.Percent(n.good, n.registered), Rejected: page.Percent(n.rejected, n.registered),
		})
	}
}

func (c *Console) stateFigures(pc *page.Context, data *overviewData, recent []store.Volume) {
	_, sums := grouped(recent, func(v store.Volume) (payment.State, bool) { return v.State, true })
	var (
		bars []bar
		many []int64
	)
	for _, state := range payment.States() {
		if n := sums[state]; n != nil {
			bars, many = append(bars, bar{Label: string(state), Address: c.listOf(pc, "state", string(state))}), append(many, n.registered)
		}
	}
	data.add("Payments registered in 24 h, by state", bars, many)
}

func (c *Console) rejectionFigures(pc *page.Context, data *overviewData, recent []store.Volume) {
	byReason := map[string]store.Volume{}
	reasons, sums := grouped(recent, func(v store.Volume) (string, bool) {
		key := string(v.Code) + " " + v.ConnectorUUID
		byReason[key] = v
		return key, v.State == payment.Rejected
	})
	var (
		bars []bar
		many []int64
	)
	for _, reason := range reasons {
		v := byReason[reason]
		to := c.listOf(pc, "state", string(payment.Rejected), "code", string(v.Code), "connector", cmp.Or(v.ConnectorUUID, none))
		bars = append(bars, bar{Label: string(v.Code), Note: cmp.Or(v.Connector, "no connector chosen"), Address: to})
		many = append(many, sums[reason].registered)
	}
	data.add("Rejected among them, by code and connector", bars, many)
}

// listOf is the address of the payments in a figure, by names of fields and their values.
func (c *Console) listOf(pc *page.Context, fields ...string) string {
	query := url.Values{"first": {pc.Now().Add(-hoursShown * time.Hour).In(pc.Zone).Format(time.DateOnly)}}
	for i := 0; i+1 < len(fields); i += 2 {
		query.Set(fields[i], fields[i+1])
	}
	return pc.Path("/payments?%s", query.Encode())
}
