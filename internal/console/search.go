package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/console/webhooks"
	"passerelle/internal/operatorstore"
	"passerelle/internal/search"
	"passerelle/internal/store"
	"passerelle/payment"
	"passerelle/webhook"
)

func (c *Console) searchRoutes() []page.Route {
	return []page.Route{page.Get("domains/#/search", c.find)}
}

// maxFound is the largest number of rows of one kind that a search shows.
const maxFound = 5

// maxWordsFound is the largest number of payments that a search by words reads for its group.
const maxWordsFound = 20

// allParameter is the query parameter that selects the complete list of payments with the words of
// the search.
const allParameter = "all"

// searchData has the results, by kind.
type searchData struct {
	Query  string
	Groups []foundGroup
	// Hidden is set when the operator may not search by data that identifies people.
	Hidden bool
	// Pager has the neighbouring pages of the complete list of payments found by words.
	Pager page.Pager
}

// foundGroup has the results of one kind.
type foundGroup struct {
	Name     string
	Payments []listRow
	Links    []foundLink
	// All is the address of the complete list, or empty.
	All string
}

// Table returns the payments of the group as a table.
func (g foundGroup) Table() paymentTable { return foundTable(g.Payments) }

type foundLink struct{ Name, Address string }

// textSearch finds payments by a field of the payment list. A search uses it only for a text that
// the field can contain.
type textSearch struct {
	name, field string
	fits        *regexp.Regexp
	// in returns the name and the value of the field with the text.
	in func(pc *page.Context, p *payment.Payment, text string) string
}

// requestNumber matches the id of a request.
var requestNumber = regexp.MustCompile(`^[0-9]{10,20}$`)

// accountsFirst puts the groups that were found by an account number before all other groups. Four
// digits are more often the end of an account number than the number of an object.
func (d *searchData) accountsFirst() {
	other := func(g foundGroup) bool { return !strings.HasSuffix(g.Name, " an account") }
	slices.SortStableFunc(d.Groups, func(a, b foundGroup) int {
		switch {
		case other(a) == other(b):
			return 0
		case other(a):
			return 1
		}
		return -1
	})
}

// textSearches lists the fields in which a search looks for the text. Each field has an index.
var textSearches = []textSearch{
	{"Payments by end-to-end id", "reference", regexp.MustCompile(`^\S{1,35}$`), inReference},
	{"Payments by bank reference", "bank", regexp.MustCompile(`^\S+$`), inBankReference},
	{"Payments from an account", "payer", regexp.MustCompile(`^[0-9A-Za-z]{4}$|^[0-9A-Za-z][0-9A-Za-z ]{6,}$`), inPayer},
	{"Payments to an account", "beneficiary", regexp.MustCompile(`^[0-9A-Za-z]{4}$|^[0-9A-Za-z][0-9A-Za-z ]{6,}$`), inBeneficiary},
	{"Payments by beginning of the label", "label", regexp.MustCompile(`..`), inLabel},
}

// find shows the objects of the domain that match a text. Only operators who may see data that
// identifies people can search in this data. In a live domain, the audit log records such a search.
func (c *Console) find(pc *page.Context) error {
	pc.Query = strings.TrimSpace(pc.Request.URL.Query().Get("q"))
	data := searchData{Query: pc.Query, Hidden: !maySearch(pc)}
	if err := passerelle.CheckText("q", pc.Query, maxFilter); err != nil {
		pc.Problem, pc.Wrong, pc.Query = "Search: at most 200 characters, without control characters", "q", ""
		return pages.Send(pc, "search", "Search", data)
	}
	fill := c.findAll
	if pc.Request.URL.Query().Has(allParameter) {
		fill = c.findWords
	}
	if err := fill(pc, &data, new(bool)); err != nil {
		return err
	}
	var lists [][]listRow
	for _, group := range data.Groups {
		lists = append(lists, group.Payments)
	}
	if err := c.markUnknown(pc, lists...); err != nil {
		return err
	}
	return pages.Send(pc, "search", "Search", data)
}

// findAll adds the groups of all kinds of objects.
func (c *Console) findAll(pc *page.Context, data *searchData, recorded *bool) error {
	if err := c.findNumber(pc, data); err != nil {
		return err
	}
	if err := c.findRequest(pc, data); err != nil {
		return err
	}
	for _, s := range textSearches {
		if !s.fits.MatchString(pc.Query) {
			continue
		}
		if err := c.findPayments(pc, s, data, recorded); err != nil {
			return err
		}
	}
	if err := c.findWords(pc, data, recorded); err != nil {
		return err
	}
	if len(pc.Query) == endLength {
		data.accountsFirst()
	}
	findEvent(pc, data)
	return nil
}

// findPayments adds the first payments, in the order of the list, that have the text in one field.
func (c *Console) findPayments(pc *page.Context, s textSearch, data *searchData, recorded *bool) error {
	values := url.Values{s.field: {pc.Query}}
	list, err := c.listing(pc, values)
	if _, is := page.UserMessage(err); is {
		return nil // the field cannot have this text, or the operator may not search by it
	}
	if err == nil && !*recorded {
		*recorded, err = c.recordSearch(pc, list)
	}
	if err != nil {
		return err
	}
	rows, err := c.DB.Payments(pc, list.PaymentFilter, store.Window{Order: list.order, Descending: !list.byLabel(), Limit: maxFound + 1}, false)
	if err != nil || len(rows) == 0 {
		return err
	}
	group := foundGroup{Name: s.name}
	if len(rows) > maxFound {
		rows, group.All = rows[:maxFound], pc.Path("/payments?%s", values.Encode())
	}
	for _, row := range rows {
		group.Payments = append(group.Payments, c.foundRow(pc, row.Payment, s.in))
	}
	data.Groups = append(data.Groups, group)
	return nil
}

// foundRow returns the row of a found payment, with the field that has the text.
func (c *Console) foundRow(pc *page.Context, p *payment.Payment, in func(*page.Context, *payment.Payment, string) string) listRow {
	row := c.newListRow(pc, p)
	row.Found = in(pc, p, pc.Query)
	return row
}

// findWords adds the newest payments that have all words of the text in their labels and names of
// beneficiaries. It omits payments with a label that begins with the text, because another group
// has them. For an e-mail address, it adds the newest payments with that address. On the complete
// list, it omits no payment, and adds one page of payments.
func (c *Console) findWords(pc *page.Context, data *searchData, recorded *bool) error {
	if data.Hidden || pc.Query == "" {
		return nil
	}
	group, find, in := foundGroup{Name: "Payments by words of label or beneficiary"}, search.ByWords, inWords
	if strings.Contains(pc.Query, "@") {
		group.Name, find, in = "Payments by e-mail address", search.ByMail, inMail
	}
	if pc.Domain.Kind != passerelle.Sandbox && !*recorded {
		if err := pc.RecordNow(actSearch, "", 0); err != nil {
			return err
		}
		*recorded = true
	}
	read := func(w store.Window) ([]store.Listed, error) {
		ids, err := find(pc, c.DB, pc.Domain.ID, pc.Query, w)
		if err != nil {
			return nil, fmt.Errorf("find payments by words: %w", err)
		}
		return c.DB.PaymentsByID(pc, pc.Domain.ID, ids, false)
	}
	found, err := data.pick(pc, read, &group)
	for _, p := range found {
		group.Payments = append(group.Payments, c.foundRow(pc, p.Payment, in))
	}
	if len(group.Payments) > 0 {
		data.Groups = append(data.Groups, group)
	}
	return err
}

// pick reads the payments that the page shows. This is one page of the complete list, or the first
// payments of a group that links to the complete list.
func (d *searchData) pick(pc *page.Context, read func(store.Window) ([]store.Listed, error), group *foundGroup) ([]store.Listed, error) {
	if !pc.Request.URL.Query().Has(allParameter) {
		found, err := read(store.Window{Limit: maxWordsFound})
		found = slices.DeleteFunc(found, func(p store.Listed) bool { return beginsWith(p.Payment, pc.Query) })
		if len(found) > maxFound {
			found, group.All = found[:maxFound], pc.Path("/search?%s", url.Values{"q": {pc.Query}, allParameter: {""}}.Encode())
		}
		return found, err
	}
	window := pc.Window(2)
	found, err := read(window)
	if window.Backward {
		slices.Reverse(found) // Paged reverses a backward page again
	}
	found, d.Pager = page.Paged(pc, window, found, func(p store.Listed) []any { return []any{p.Created.UnixMicro(), int64(p.ID)} })
	return found, err
}

// beginsWith reports whether any label of a payment begins with a text.
func beginsWith(p *payment.Payment, text string) bool {
	return slices.ContainsFunc(p.Instructions, func(in payment.Instruction) bool { return beginsLabel(in, text) })
}

// findEvent adds the meaning of a webhook event, with a link to the page that explains the event.
func findEvent(pc *page.Context, data *searchData) {
	event, known := webhook.Lookup(strings.ToUpper(pc.Query))
	if known {
		link := foundLink{Name: fmt.Sprintf("%s: sent %s", event.Event, event.Description), Address: pc.Path("%s", webhooks.EventPath(event))}
		data.Groups = append(data.Groups, foundGroup{Name: "Event of webhooks", Links: []foundLink{link}})
	}
}

// findRequest adds the acts of one request.
func (c *Console) findRequest(pc *page.Context, data *searchData) error {
	if !requestNumber.MatchString(pc.Query) {
		return nil
	}
	acts, err := operatorstore.From(c.DB).Audits(pc, operatorstore.AuditFilter{Request: pc.Query, Domain: pc.Domain.ID}, store.Window{Limit: maxFound})
	if err != nil {
		return fmt.Errorf("find acts of a request: %w", err)
	}
	group := foundGroup{Name: "Acts in this request"}
	for _, a := range acts {
		row := newActRow(pc, a, nil)
		group.Links = append(group.Links, foundLink{Name: strings.TrimSpace(row.Act + " " + row.Subject), Address: cmp.Or(row.Address, pc.Path("/audit"))})
	}
	if len(acts) > 0 {
		data.Groups = append(data.Groups, group)
	}
	return nil
}

// numbered is a kind of object with a number. The function find returns the path of its page.
type numbered struct {
	name string
	find func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (path string, err error)
}

// numberedThings lists the kinds of objects, besides payments, that a search finds by number. They
// have the order of the page.
var numberedThings = []numbered{
	{"User %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		_, err := r.User(ctx, domain, passerelle.UserID(id))
		return fmt.Sprintf("/users/%d", id), err
	}},
	{"Connection %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		user, err := bankstore.From(r).UserOfConnection(ctx, domain, passerelle.ConnectionID(id))
		return fmt.Sprintf("/users/%d/connections/%d", user, id), err
	}},
	{"Bank account %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		user, err := bankstore.From(r).UserOfBankAccount(ctx, domain, id)
		return fmt.Sprintf("/users/%d/accounts", user), err
	}},
	{"Application %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		_, err := r.Client(ctx, domain, passerelle.ClientID(id))
		return fmt.Sprintf("/clients/%d", id), err
	}},
	{"Webhook %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		_, err := r.Webhook(ctx, domain, passerelle.WebhookID(id))
		return fmt.Sprintf("/webhooks/%d", id), err
	}},
	{"Webhook data %d", func(ctx context.Context, r *store.Reader, domain passerelle.DomainID, id int64) (string, error) {
		webhook, err := r.WebhookOfDelivery(ctx, domain, passerelle.DeliveryID(id))
		return fmt.Sprintf("/webhooks/%d/data/%d", webhook, id), err
	}},
}

// findNumber adds the objects that have the text as their number.
func (c *Console) findNumber(pc *page.Context, data *searchData) error {
	id, err := strconv.ParseInt(pc.Query, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != pc.Query {
		return nil //nolint:nilerr // it is no number of an object
	}
	p, err := c.DB.Payment(pc, pc.Domain.ID, passerelle.PaymentID(id), false)
	if err == nil {
		row := c.newListRow(pc, p)
		row.Found = "Number"
		data.Groups = append(data.Groups, foundGroup{Name: "Payment by number", Payments: []listRow{row}})
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("find payment %d: %w", id, err)
	}
	others := foundGroup{Name: "Other objects with this number"}
	for _, kind := range numberedThings {
		path, err := kind.find(pc, &c.DB.Reader, pc.Domain.ID, id)
		switch {
		case err == nil:
			others.Links = append(others.Links, foundLink{fmt.Sprintf(kind.name, id), pc.Path("%s", path)})
		case !errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("find objects with the number %d: %w", id, err)
		}
	}
	if len(others.Links) > 0 {
		data.Groups = append(data.Groups, others)
	}
	return nil
}
