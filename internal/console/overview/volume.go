package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// span is a period that the page shows in parts, beside the previous period.
type span struct {
	// Name is the period's name in addresses. Title and Unit are the period's names on pages.
	Name, Title, Unit string
	part              time.Duration
	parts             int64
	// layout is the time format for the beginning of a part.
	layout string
}

// spans lists the periods. The first period is the default.
var spans = []span{
	{"hours", "24 hours", "hour", time.Hour, 24, "15:04"},
	{"days", "14 days", "day", 24 * time.Hour, 14, "Mon 2 Jan"},
}

// spanOf returns the period in the address, and the other period.
func spanOf(pc *page.Context) (span, span) {
	if pc.Request.URL.Query().Get("by") == spans[1].Name {
		return spans[1], spans[0]
	}
	return spans[0], spans[1]
}

// first returns the number of the first part of a period. The last part of that period contains the
// instant `now`. Part 0 begins with the year 1970 in local time, with the UTC offset of `now`.
func (s span) first(now time.Time) int64 { return s.at(now) - s.parts + 1 }

func (s span) at(t time.Time) int64 {
	_, zone := t.Zone()
	return (t.Unix() + int64(zone)) / int64(s.part.Seconds())
}

// begin returns the beginning of a part, with the UTC offset of the instant `now`. All parts of a
// period have this offset, even when the offset of the zone changed during the period.
func (s span) begin(part int64, now time.Time) time.Time {
	_, zone := now.Zone()
	return time.Unix(part*int64(s.part.Seconds())-int64(zone), 0).In(time.FixedZone("", zone))
}

// text formats the beginning of a part in local time, with the same offset for all parts of a
// period.
func (s span) text(part int64) string {
	return time.Unix(part*int64(s.part.Seconds()), 0).UTC().Format(s.layout)
}

// localNow returns the current time on the domain's clock, in the domain's time zone.
func localNow(pc *page.Context) time.Time { return pc.Now().In(pc.Zone) }

// column is one part of a period in the chart. Heights are in hundredths of the highest column.
type column struct {
	X, Good, Rejected, Rest, Before int64
	Text                            string
}

// figures has the results of a period's payments, as texts.
type figures struct {
	Registered, Success, Final string
	// Amounts has the total amounts in at most three currencies, largest first.
	Amounts []string
}

// bankRow has the results of the payments through one bank. Some rows have the payments of several
// banks, or the payments without a bank.
type bankRow struct {
	Name string
	// Address is the address of the list of these payments, or empty.
	Address                           string
	Registered, Good, Rejected, Final string
	// Before is the same percentage as Good, for the previous period.
	Before string
}

// goodStates are the states in which a bank has executed or accepted at least a part of a payment.
var goodStates = []payment.State{payment.Done, payment.Accepted, payment.Partial}

// counts has the results of a group of payments.
type counts struct {
	registered, good, rejected, final int64
	// open is the sum of the times between the registration and the execution or acceptance of
	// payments. final is the number of these payments.
	open    time.Duration
	amounts map[passerelle.Currency]int64
}

func (n *counts) add(v store.Volume) {
	n.registered += v.Count
	if n.amounts == nil {
		n.amounts = map[passerelle.Currency]int64{}
	}
	n.amounts[v.Currency] += v.Amount
	if v.State == payment.Rejected {
		n.rejected += v.Count
	}
	if slices.Contains(goodStates, v.State) {
		n.good += v.Count
		n.final, n.open = n.final+v.Count, n.open+v.Open
	}
}

// figures returns the counts as texts.
func (n *counts) figures() figures {
	f := figures{Registered: countText(n.registered), Final: n.finalText()}
	if decided := n.good + n.rejected; decided > 0 {
		f.Success = page.Percent(n.good, decided)
	}
	var currencies []passerelle.Currency
	for one := range n.amounts {
		currencies = append(currencies, one)
	}
	slices.SortFunc(currencies, func(a, b passerelle.Currency) int {
		return cmp.Or(cmp.Compare(n.amounts[b], n.amounts[a]), cmp.Compare(a, b))
	})
	var texts []string
	for _, one := range currencies[:min(len(currencies), 3)] {
		texts = append(texts, page.Amount(passerelle.Money{Minor: n.amounts[one], Currency: one}))
	}
	f.Amounts = texts
	return f
}

// finalText returns the average time from the registration of a payment until its execution or
// acceptance.
func (n *counts) finalText() string {
	if n.final == 0 {
		return ""
	}
	average := n.open / time.Duration(n.final)
	if average < time.Minute {
		return fmt.Sprintf("%d s", int64(average/time.Second))
	}
	return page.Age(average)
}

// volumes counts the payments of domains. It caches large counts for a while, because many people
// may watch the same domain.
type volumes struct {
	Config
	counting singleflight.Group
	mutex    sync.Mutex
	kept     map[volumeKey]keptVolumes
}

// volumeKey identifies a count by its domain and period.
type volumeKey struct {
	domain passerelle.DomainID
	span   string
}

type keptVolumes struct {
	since, read time.Time
	all         []store.Volume
}

const (
	// A count of manyPayments or more stays in the cache for keepVolumes.
	manyPayments = 1000
	keepVolumes  = 30 * time.Second
	// countLimit is the time after which a count ends. Without this limit, a count would continue
	// after all its readers have left.
	countLimit = 10 * time.Second
)

func newVolumes(config Config) *volumes {
	return &volumes{Config: config, kept: map[volumeKey]keptVolumes{}}
}

// count counts the payments of a domain in a period and in the previous period. Readers who request
// the same count at the same time share it. Each reader stops waiting when the reader's own request
// ends.
func (v *volumes) count(pc *page.Context, s span) ([]store.Volume, error) {
	key, since := volumeKey{pc.Domain.ID, s.Name}, s.begin(s.first(localNow(pc))-s.parts, localNow(pc))
	if kept, is := v.keptSince(key, since); is {
		return kept, nil
	}
	counted := v.counting.DoChan(fmt.Sprint(key, since.Unix()), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(pc), countLimit)
		defer cancel()
		all, err := v.DB.Volumes(ctx, key.domain, s.part, since)
		if err != nil {
			return nil, fmt.Errorf("count the payments of domain %d: %w", key.domain, err)
		}
		v.keep(key, since, all)
		return all, nil
	})
	select {
	case <-pc.Done():
		return nil, pc.Err()
	case result := <-counted:
		all, _ := result.Val.([]store.Volume)
		return all, result.Err
	}
}

// keptSince returns the cached count of a period that begins at an instant. It returns false when
// the cache has no such count.
func (v *volumes) keptSince(key volumeKey, since time.Time) ([]store.Volume, bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	kept, is := v.kept[key]
	return kept.all, is && kept.since.Equal(since) && v.Now().Sub(kept.read) < keepVolumes
}

// keep caches a count of many payments, and drops counts that are too old.
func (v *volumes) keep(key volumeKey, since time.Time, all []store.Volume) {
	total := int64(0)
	for _, one := range all {
		total += one.Count
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	now := v.Now()
	maps.DeleteFunc(v.kept, func(_ volumeKey, kept keptVolumes) bool { return now.Sub(kept.read) >= keepVolumes })
	if total >= manyPayments {
		v.kept[key] = keptVolumes{since, now, all}
	}
}

// volumeFigures calculates the figures of the period by part, by bank, by state and by reason of a
// rejection. For each part, it also adds the same part of the previous period.
func (h *handler) volumeFigures(pc *page.Context, data *overviewData) error {
	data.Span, data.Other = spanOf(pc)
	all, err := h.volumes.count(pc, data.Span)
	if err != nil {
		return err
	}
	first := data.Span.first(localNow(pc))
	var now, before counts
	parts := make([]counts, 2*data.Span.parts)
	var recent, earlier []store.Volume
	for _, v := range all {
		if i := v.Period - first + data.Span.parts; i >= 0 && i < int64(len(parts)) {
			parts[i].add(v)
		}
		if v.Period < first {
			before.add(v)
			earlier = append(earlier, v)
			continue
		}
		now.add(v)
		recent = append(recent, v)
	}
	data.Now, data.Before, data.Empty = now.figures(), before.figures(), len(all) == 0
	if data.Empty {
		older, err := h.DB.Payments(pc, store.PaymentFilter{Domain: pc.Domain.ID}, store.Window{Order: "register_date", Descending: true, Limit: 1}, false)
		if err != nil {
			return fmt.Errorf("find older payments: %w", err)
		}
		data.Earlier = len(older) > 0
	}
	data.Columns = columns(pc, data.Span, parts)
	data.bankFigures(pc, recent, earlier)
	data.stateFigures(pc, recent)
	data.rejectionFigures(pc, recent)
	return nil
}

func countText(n int64) string { return page.UpTo(n, store.MaxOverviewRows) }

// columns returns the columns of the chart. Each column has one part of the period and the same
// part of the previous period.
func columns(pc *page.Context, s span, parts []counts) []column {
	highest := int64(1)
	for _, one := range parts {
		highest = max(highest, one.registered)
	}
	height := func(n int64) int64 { return 100 * n / highest }
	all := make([]column, s.parts)
	for i := range all {
		n, before := parts[int64(i)+s.parts], parts[i]
		begin := s.text(s.first(localNow(pc)) + int64(i))
		all[i] = column{
			X: 240 / s.parts * int64(i), Good: height(n.good), Rejected: height(n.rejected), Rest: height(n.registered - n.good - n.rejected), Before: height(before.registered),
			Text: fmt.Sprintf("%s: %d registered, %d executed or accepted, %d rejected; %d in the period before", begin, n.registered, n.good, n.rejected, before.registered),
		}
	}
	return all
}

// Width returns the width of a column in a drawing with a width of 240.
func (s span) Width() int64 { return 240 / s.parts }

// Drawn returns the width of all columns together.
func (s span) Drawn() int64 { return s.Width() * s.parts }

// Bar returns the width of a bar in a column.
func (s span) Bar() int64 { return s.Width() / 2 }

// grouped adds up volumes by key. It returns all sums, and the keys of the maxBars sums with the
// most payments, largest first. It omits a volume when the function `key` returns false.
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

// bankOf returns the bank of a volume, and whether the volume has a bank.
func bankOf(v store.Volume) (string, bool) { return v.ConnectorUUID, v.ConnectorUUID != "" }

func (d *overviewData) bankFigures(pc *page.Context, recent, earlier []store.Volume) {
	names := map[string]string{}
	for _, v := range recent {
		names[v.ConnectorUUID] = v.Connector
	}
	uuids, sums := grouped(recent, bankOf)
	_, before := grouped(earlier, bankOf)
	for _, uuid := range uuids {
		d.Banks = append(d.Banks, newBankRow(names[uuid], d.listOf(pc, "connector", uuid), sums[uuid], before[uuid]))
	}
	named := func(v store.Volume) bool { return slices.Contains(uuids, v.ConnectorUUID) }
	others := func(v store.Volume) bool { return v.ConnectorUUID != "" && !named(v) }
	if n := total(recent, others); n.registered > 0 {
		d.Banks = append(d.Banks, newBankRow("Other banks", "", n, total(earlier, others)))
	}
	none := func(v store.Volume) bool { return v.ConnectorUUID == "" }
	if n := total(recent, none); n.registered > 0 {
		d.Banks = append(d.Banks, newBankRow("No bank chosen", d.listOf(pc, "connector", page.NoConnector), n, total(earlier, none)))
	}
}

// total adds up the selected volumes.
func total(all []store.Volume, selected func(store.Volume) bool) *counts {
	sum := &counts{}
	for _, v := range all {
		if selected(v) {
			sum.add(v)
		}
	}
	return sum
}

// newBankRow returns the row for the payments in n. The argument `earlier` contains the payments of
// the previous period, or is nil.
func newBankRow(name, address string, n, earlier *counts) bankRow {
	row := bankRow{
		Name: name, Address: address, Registered: countText(n.registered),
		Good: page.Percent(n.good, n.registered), Rejected: page.Percent(n.rejected, n.registered), Final: n.finalText(),
	}
	if earlier != nil && earlier.registered > 0 {
		row.Before = page.Percent(earlier.good, earlier.registered)
	}
	return row
}

func (d *overviewData) stateFigures(pc *page.Context, recent []store.Volume) {
	_, sums := grouped(recent, func(v store.Volume) (payment.State, bool) { return v.State, true })
	var (
		bars []bar
		many []int64
	)
	for _, state := range payment.States() {
		if n := sums[state]; n != nil {
			bars, many = append(bars, bar{Label: page.StateWord(state).Word(), Address: d.listOf(pc, "state", string(state))}), append(many, n.registered)
		}
	}
	d.add("Payments by state", bars, many)
}

func (d *overviewData) rejectionFigures(pc *page.Context, recent []store.Volume) {
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
		to := d.listOf(pc, "state", string(payment.Rejected), "code", string(v.Code), "connector", cmp.Or(v.ConnectorUUID, page.NoConnector))
		bars = append(bars, bar{Label: page.Code(v.Code).Word(), Note: cmp.Or(v.Connector, "no bank chosen"), Address: to})
		many = append(many, sums[reason].registered)
	}
	d.add("Rejections by reason and bank", bars, many)
}

// listOf returns the address of the page that lists the payments in a figure. The list always
// begins at the start of a day, so it may also have earlier payments. The argument `fields` has
// pairs of a query parameter's name and its value.
func (d *overviewData) listOf(pc *page.Context, fields ...string) string {
	begin := d.Span.begin(d.Span.first(localNow(pc)), localNow(pc))
	query := url.Values{"first": {begin.Format(time.DateOnly)}}
	for i := 0; i+1 < len(fields); i += 2 {
		query.Set(fields[i], fields[i+1])
	}
	return pc.Path("/payments?%s", query.Encode())
}
