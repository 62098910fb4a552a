package webview

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/imports"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
)

// fromWebview is the origin of the consents that people give in the webview.
const fromWebview = "webview"

// sharingBody is the content of the page on which a person chooses what to share.
type sharingBody struct {
	flowBody
	// Standing describes the state of a managed connection. Forget is the address for deleting the
	// connection. Files is the address for uploading statement files.
	Standing, Forget, Files string
	// Mend is the content about a connection that cannot be read. It is nil for other connections.
	Mend *flowBody
	// What, Until and Stop are the terms of the consent: which data is read, until when, and how to
	// end the consent.
	What, Until, Stop string
	// PickAll is the address of the page with all items ticked. PickNone is the address of the page
	// with no items ticked.
	PickAll, PickNone string
	// Count is the text of the button. When the person ticks an item, a script makes a new text
	// from the texts in Counted.
	Count                   string
	Counted                 counted
	Accounts, Subscriptions []item
	Search                  bool
	// Paged is set when one page cannot show all items. The person then submits each page
	// separately. Next is the position of the first item on the next page, and is empty on the last
	// page.
	Paged bool
	Next  string
	chooser.Part
}

// item is an account or a subscription that the person may share.
type item struct {
	ID           int64
	Name, Detail string
	Shared       bool
}

// shareable has the accounts and subscriptions of a connection that the client's link offers.
type shareable struct {
	accounts      []bankstore.StoredAccount
	subscriptions []bankstore.StoredSubscription
}

// shareable reads at most mostItems accounts and subscriptions. An institution has no more of them.
// The result may lack new ones while a synchronisation replaces all of them.
func (w *Webview) shareable(pc *pageContext, s *flowConnection) (shareable, error) {
	var err error
	all, data, most := shareable{}, bankstore.From(w.DB), store.Window{Limit: mostItems}
	if s.Filter.accounts() {
		of := bankstore.AccountFilter{Domain: pc.domain.ID, User: s.User, Connection: s.c.ID, Disabled: true}
		if all.accounts, err = data.BankAccounts(pc.context(), of, most); err != nil {
			return all, fmt.Errorf("list the accounts of connection %d: %w", s.c.ID, err)
		}
		all.accounts = slices.DeleteFunc(all.accounts, func(a bankstore.StoredAccount) bool { return !s.Filter.account(a.BankAccount) })
	}
	if s.Filter.subscriptions() {
		of := bankstore.SubscriptionFilter{Domain: pc.domain.ID, User: s.User, Connection: s.c.ID, Disabled: true}
		if all.subscriptions, err = data.Subscriptions(pc.context(), of, most); err != nil {
			return all, fmt.Errorf("list the subscriptions of connection %d: %w", s.c.ID, err)
		}
	}
	return all, nil
}

// showSharing shows the items that the person can share. At first, it ticks only items that are
// already shared, because a consent must be an explicit act of the person.
func (w *Webview) showSharing(pc *pageContext, s *flowConnection) error {
	all, err := w.shareable(pc, s)
	if err != nil {
		return err
	}
	body := sharingBody{flowBody: s.body(pc, "share")}
	body.Message, body.Text = "", pc.words.Say("share.text", s.client.Name)
	body.list(pc, s, all)
	body.agree(pc, s, all)
	if s.Flow == flowManage {
		if err := w.manage(pc, s, &body); err != nil {
			return err
		}
	} else {
		body.frame = body.at(stepsOfConnect, 3)
	}
	page := w.flowPage(pc, s.flowSession, "share", body.Title, body)
	page.Module = "share.mjs"
	if body.Mend != nil && pc.request.URL.Query().Has(pickParameter) {
		body.Mend.After = 0 // otherwise resume.mjs would send the form Mend before the person can share the ticked items
	}
	if body.Mend != nil && body.Mend.After > 0 {
		page.Module, page.Asks = "resume.mjs", true // share.html also loads share.mjs; this page has no Fallback, because a reload would lose the ticks
	}
	return pages.Send(pc.writer, page)
}

// agree sets the terms of the consent and the text with the number of ticked items.
func (b *sharingBody) agree(pc *pageContext, s *flowConnection, all shareable) {
	b.What, b.Stop = pc.words.Say("agree.what", s.client.Name), pc.words.Say("agree.stop", s.client.Name)
	if len(all.accounts) == 0 {
		b.What = pc.words.Say("agree.documents", s.client.Name) // contracts have no balances and no transactions
	}
	b.Until = pc.words.Say("agree.open")
	if s.c.ConsentUntil != nil && !imports.Takes(s.c) { // nobody asks about statement files again
		b.Until = pc.words.Say("agree.until", dateText(pc.words, passerelle.DateOf(*s.c.ConsentUntil, pc.zone)), s.bank.Name)
	}
	from := strconv.Itoa(b.First)
	b.PickAll, b.PickNone = s.address(pc, pickParameter, "all", chooser.FromParameter, from), s.address(pc, pickParameter, "none", chooser.FromParameter, from)
	b.Counted = newCounted(pc.words, s.Flow == flowManage)
	b.Count = b.Counted.text(b.ticked())
	switch {
	case b.Next != "":
		b.Count = pc.words.Say("share.next")
	case b.Paged:
		b.Count = pc.words.Say("share.save")
	}
}

// ticked returns the numbers of ticked accounts and of ticked contracts on the page.
func (b *sharingBody) ticked() (int, int) {
	count := func(items []item) int {
		return len(slices.DeleteFunc(slices.Clone(items), func(i item) bool { return !i.Shared }))
	}
	return count(b.Accounts), count(b.Subscriptions)
}

// pickParameter decides which items are ticked when the page opens. Without this parameter, the
// shared items are ticked.
const pickParameter = "pick"

// picked reports whether an item is ticked when the page opens. After a form that had no effect,
// the items are ticked as in the form.
func (pc *pageContext) picked(kind string, id int64, shared bool) bool {
	if pc.ticks != nil {
		return pc.ticks.Has("all") || slices.Contains(pc.ticks[kind], strconv.FormatInt(id, 10))
	}
	switch pc.request.URL.Query().Get(pickParameter) {
	case "all":
		return true
	case "none":
		return false
	}
	return shared
}

// counted has the texts that contain a number of accounts and contracts.
type counted struct {
	Nothing, Share, And                          string
	OneAccount, Accounts, OneContract, Contracts string
}

func newCounted(words web.Words, managed bool) counted {
	nothing := "share.button"
	if managed {
		nothing = "share.stop"
	}
	return counted{
		words.Say(nothing), words.Say("share.do"), words.Say("share.and"),
		words.Say("count.account"), words.Say("count.accounts"), words.Say("count.contract"), words.Say("count.contracts"),
	}
}

// things returns the words for a number of accounts and contracts. It returns an empty text for
// zero accounts and contracts.
func (c counted) things(accounts, contracts int) string {
	number := func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return fmt.Sprintf(many, n)
	}
	switch {
	case accounts == 0 && contracts == 0:
		return ""
	case contracts == 0:
		return number(accounts, c.OneAccount, c.Accounts)
	case accounts == 0:
		return number(contracts, c.OneContract, c.Contracts)
	}
	return fmt.Sprintf(c.And, number(accounts, c.OneAccount, c.Accounts), number(contracts, c.OneContract, c.Contracts))
}

// text returns the text of the button.
func (c counted) text(accounts, contracts int) string {
	if things := c.things(accounts, contracts); things != "" {
		return fmt.Sprintf(c.Share, things)
	}
	return c.Nothing
}

// list puts all items on the page, or only the part that the address requests.
func (b *sharingBody) list(pc *pageContext, s *flowConnection, all shareable) {
	accounts := len(all.accounts)
	b.Part = chooser.NewPart(pc.request.URL.Query(), accounts+len(all.subscriptions), mostShown)
	for _, a := range all.accounts[min(b.First, accounts):min(b.End, accounts)] {
		one := newAccountItem(pc.words, a.BankAccount)
		one.Shared = pc.picked("account", one.ID, one.Shared)
		b.Accounts = append(b.Accounts, one)
	}
	for _, one := range all.subscriptions[max(b.First-accounts, 0):max(b.End-accounts, 0)] {
		b.Subscriptions = append(b.Subscriptions, item{int64(one.ID), one.Label, one.Number, pc.picked("subscription", int64(one.ID), one.Disabled == nil)})
	}
	if b.Paged = accounts+len(all.subscriptions) > mostShown; b.Paged {
		b.Action = s.address(pc, chooser.FromParameter, strconv.Itoa(b.First))
		if b.Later != "" {
			b.Next = strconv.Itoa(b.End)
		}
	}
	b.Search = !b.Paged && len(b.Accounts) >= manyItems
}

// mostShown is the largest number of items on one page.
const mostShown = 150

// manyItems is the number of accounts at which the list gets a search field.
const manyItems = 20

func newAccountItem(words web.Words, a passerelle.BankAccount) item {
	i := item{ID: int64(a.ID), Name: nameOf(a), Detail: kindText(words, a) + " · ", Shared: a.Disabled == nil}
	if i.Name == "" {
		i.Name, i.Detail = kindText(words, a), ""
	}
	switch {
	case a.IBAN != "":
		i.Detail += passerelle.Account{Scheme: passerelle.IBAN, Identification: plainNumber(a.IBAN)}.Masked()
	case lastFour(a.Number) != "":
		i.Detail += "**** " + lastFour(a.Number)
	default:
		i.Detail = strings.TrimSuffix(i.Detail, " · ")
	}
	return i
}

// kindOf returns the last part of the text key for accounts of a type.
func kindOf(t passerelle.AccountType) string {
	details := t.Details()
	switch {
	case t == "card":
		return "card"
	case t.Payment() || t == "deposit":
		return "current"
	case t == "savings" || details.Parent == "savings":
		return "savings"
	case t == "loan" || details.Parent == "loan":
		return "loan"
	case details.Invest:
		return "invested"
	}
	return "other"
}

// share applies a person's choice. It shares the ticked items from now on, and stops sharing the
// other items on the page.
func (w *Webview) share(pc *pageContext, s *flowConnection, form url.Values) error {
	if s.Flow == flowReconnect {
		return errUnread
	}
	all, err := w.shareable(pc, s)
	if err != nil {
		return err
	}
	pc.ticks = form
	change := newSelection(all, form)
	next := form.Get("next")
	if s.Flow == flowConnect && next == "" && change.ticked == 0 {
		pc.problem = problem{key: "problem.nothing"}
		return w.showSharing(pc, s)
	}
	err = w.Aggregation.ChangeSharing(pc.context(), pc.domain, s.User, s.c.ID, change.Sharing)
	var refused *passerelle.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == passerelle.Conflict:
		pc.notice = "notice.reading"
		return w.showSharing(pc, s)
	case errors.Is(err, passerelle.NotFound):
		web.Redirect(pc.writer, s.address(pc)) // the connection was deleted after the person opened the page
		return nil
	case err != nil:
		return fmt.Errorf("share the accounts of connection %d: %w", s.c.ID, err)
	}
	if next != "" && !form.Has("all") {
		web.Redirect(pc.writer, s.address(pc, chooser.FromParameter, next))
		return nil
	}
	return w.shared(pc, s)
}

// shared redirects the browser to the next page after a choice.
func (w *Webview) shared(pc *pageContext, s *flowConnection) error {
	if s.Flow == flowManage {
		web.Redirect(pc.writer, s.address(pc, "step", stepSaved))
		return nil
	}
	if !slices.Contains(s.Made, s.c.ID) {
		s.Made = append(s.Made, s.c.ID)
	}
	if err := w.storeFlow(pc, s.flowSession); err != nil {
		return err
	}
	if s.Parent != "" {
		return w.finishConnect(pc, s.flowSession)
	}
	web.Redirect(pc.writer, pc.to(s.flowSession, "step", stepMore))
	return nil
}

// selection has the changes that a person's choice makes, and the number of ticked items.
type selection struct {
	aggregation.Sharing
	ticked int
}

func newSelection(all shareable, form url.Values) selection {
	c := selection{Sharing: aggregation.Sharing{Accounts: map[passerelle.AccountID]bool{}, Subscriptions: map[passerelle.SubscriptionID]bool{}, Origin: fromWebview}}
	ticked := func(name string, id int64, shared bool) bool {
		number := strconv.FormatInt(id, 10)
		if form.Has("paged") && !slices.Contains(form["listed"], name+" "+number) {
			return shared || form.Has("all") // another part of the list shows the item
		}
		return form.Has("all") || slices.Contains(form[name], number)
	}
	for _, a := range all.accounts {
		take(&c, c.Accounts, a.ID, ticked("account", int64(a.ID), a.Disabled == nil), a.Disabled == nil)
	}
	for _, one := range all.subscriptions {
		take(&c, c.Subscriptions, one.ID, ticked("subscription", int64(one.ID), one.Disabled == nil), one.Disabled == nil)
	}
	return c
}

// take counts an item that is ticked. If the arguments ticked and shared differ, it also stores the
// new value in changed[id].
func take[T ~int64](c *selection, changed map[T]bool, id T, ticked, shared bool) {
	if ticked != shared {
		changed[id] = ticked
	}
	if ticked {
		c.ticked++
	}
}
