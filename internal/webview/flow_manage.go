package webview

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
	"passerelle/internal/wire"
)

// listBody is the content of the page that lists a person's connections.
type listBody struct {
	flowBody
	Connections []managed
	// Next is the address of the next part of the list.
	Next string
}

// managed is a connection in the list.
type managed struct {
	chooser.Institution
	// Standing describes the state of the connection. Bad is set when the service cannot read the
	// connection. Detail distinguishes the connection from other connections to the same
	// institution.
	Standing, Detail string
	Bad              bool
}

// managedPage is the largest number of connections that one page of the list reads.
const managedPage = 100

// list shows the connections of a person, oldest first.
func (w *Webview) list(pc *pageContext, t *flowSession) error {
	after, _ := strconv.ParseInt(pc.request.URL.Query().Get("after"), 10, 64)
	all, err := bankstore.From(w.DB).Connections(pc.context(), pc.domain.ID, t.User, store.Window{From: []any{after}, Limit: managedPage})
	if err != nil {
		return fmt.Errorf("list the connections of user %d: %w", t.User, err)
	}
	banks, err := w.Aggregation.Banks(pc.context(), pc.domain)
	if err != nil {
		return fmt.Errorf("list the institutions: %w", err)
	}
	of := map[string]wire.Bank{}
	for _, b := range banks {
		b.Name = pc.institutionName(b)
		of[b.UUID] = b
	}
	body := listBody{flowBody: pc.body(t, "list")}
	body.Leave, body.Done = pc.to(t, "step", stepLeave), pc.acknowledged(t)
	ids := make([]passerelle.ConnectionID, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	details, err := w.describe(pc, t, all, ids)
	if err != nil {
		return err
	}
	filled, err := bankstore.From(w.DB).ConnectionsWithAccounts(pc.context(), pc.domain.ID, ids...)
	if err != nil {
		return fmt.Errorf("find the connections of user %d with accounts: %w", t.User, err)
	}
	for _, c := range all {
		b, known := of[c.Connector]
		if !known {
			b.Name = pc.words.Say("bank")
		}
		if known && !t.Filter.covers(b) {
			continue
		}
		s := &flowConnection{t, c, b}
		text, bad := s.stateText(pc, !filled[c.ID])
		body.Connections = append(body.Connections, managed{w.entryOf(b, s.address(pc)), text, details[c.ID], bad})
	}
	if len(all) == managedPage {
		body.Next = pc.to(t, "after", connectionText(all[len(all)-1].ID))
	}
	return pages.Send(pc.writer, w.flowPage(pc, t, "list", body.Title, body))
}

// acknowledged returns the text that confirms the last action, which the person took on another
// page.
func (pc *pageContext) acknowledged(t *flowSession) string {
	switch step := pc.step(); {
	case step == stepEnded && t.Deleted != 0:
		return pc.words.Say("done.ended")
	case step == stepAdded:
		return pc.words.Say("done.added")
	}
	return ""
}

// Each of these values of the parameter step makes a page show a confirmation.
const (
	stepEnded = "ended"
	stepAdded = "added"
	stepSaved = "saved"
)

// mostNamed is the largest number of accounts that the list names for one connection.
const mostNamed = 3

// describe returns texts that distinguish connections. A text names the accounts. When two
// connections have the same institution, the text also has a part of the login.
func (w *Webview) describe(pc *pageContext, t *flowSession, all []bankstore.Connection, ids []passerelle.ConnectionID) (map[passerelle.ConnectionID]string, error) {
	same := map[string]int{}
	for _, c := range all {
		same[c.Connector]++
	}
	named, err := w.accountNames(pc, t, ids)
	if err != nil {
		return nil, err
	}
	details := map[passerelle.ConnectionID]string{}
	for _, c := range all {
		parts := named[c.ID]
		if left := len(parts) - mostNamed; left > 0 {
			parts = append(parts[:mostNamed:mostNamed], pc.words.Say("list.others", left))
		}
		if same[c.Connector] > 1 {
			login, err := w.loginHint(pc, c)
			if err != nil {
				return nil, err
			}
			parts = append(login, parts...)
		}
		details[c.ID] = strings.Join(parts, " · ")
	}
	return details, nil
}

// mostItems is the largest number of accounts or subscriptions that one query loads.
const mostItems = 1000

// accountNames returns the short names of the accounts of connections.
func (w *Webview) accountNames(pc *pageContext, t *flowSession, ids []passerelle.ConnectionID) (map[passerelle.ConnectionID][]string, error) {
	filter := bankstore.AccountFilter{Domain: pc.domain.ID, User: t.User, Connections: ids, Disabled: true}
	named := map[passerelle.ConnectionID][]string{}
	for window := (store.Window{Limit: mostItems}); ; {
		accounts, err := bankstore.From(w.DB).BankAccounts(pc.context(), filter, window)
		if err != nil {
			return nil, fmt.Errorf("list the accounts of user %d: %w", t.User, err)
		}
		for _, a := range accounts {
			window.From = []any{int64(a.ID)}
			named[a.Connection] = append(named[a.Connection], shortName(pc.words, a.BankAccount))
		}
		if len(accounts) < window.Limit {
			return named, nil
		}
	}
}

// shortName returns the name of an account and the last four characters of its number.
func shortName(words web.Words, a passerelle.BankAccount) string {
	name, number := cmp.Or(nameOf(a), kindText(words, a)), cmp.Or(plainNumber(a.IBAN), a.Number)
	if last := lastFour(number); last != "" {
		name += " …\u2060" + last // U+2060 prevents a line break after the ellipsis
	}
	return name
}

// nameOf returns the name of an account. It returns an empty text if the name is the account's
// complete number, as for many accounts from statement files.
func nameOf(a passerelle.BankAccount) string {
	name := cmp.Or(a.CustomName, a.Name)
	if plain := plainNumber(name); plain == plainNumber(a.IBAN) || plain == plainNumber(a.Number) {
		return ""
	}
	return name
}

// kindText returns the kind of an account in words.
func kindText(words web.Words, a passerelle.BankAccount) string {
	return words.Say("account." + kindOf(a.Type))
}

// lastFour returns the last four characters of an account number. It returns an empty text for a
// number with four characters or fewer, because the page must not show a complete number.
func lastFour(number string) string {
	characters := []rune(number)
	if len(characters) <= 4 {
		return ""
	}
	return string(characters[len(characters)-4:])
}

// loginHint returns a part of a connection's login. The person recognises the login by this part. A
// connection that the person authorised on the institution's page has no hint.
func (w *Webview) loginHint(pc *pageContext, c bankstore.Connection) ([]string, error) {
	text, err := w.login(pc, c)
	login := []rune(text)
	if err != nil || len(login) == 0 {
		return nil, err
	}
	return []string{pc.words.Say("list.login", string(login[:min(2, (len(login)+1)/2)])+"…")}, nil
}

// login returns the login that the person has entered for a connection. It returns an empty text for
// a connection without a login, and for credentials that cannot be decrypted.
func (w *Webview) login(pc *pageContext, c bankstore.Connection) (string, error) {
	values, _, err := bankstore.From(w.DB).ConnectionSecrets(pc.context(), pc.domain.ID, c.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrSealed) {
		return "", fmt.Errorf("read the login of connection %d: %w", c.ID, err)
	}
	return values["login"], nil
}

// added is the suffix in the handle of a flow that another flow started.
const added = "-add"

// add begins a flow in which a person who manages connections adds another connection. At the end
// of that flow, the person returns to the first flow. Each flow has only one added flow at a time,
// because otherwise the number of cookies would grow without limit.
func (w *Webview) add(pc *pageContext, t *flowSession, _ url.Values) error {
	if t.Flow != flowManage || t.User == 0 {
		return errUnread
	}
	other := &flowSession{client: t.client, flowState: flowState{
		handle: t.handle + added, Parent: t.handle, Flow: flowConnect, Form: t.Form, Client: t.Client, User: t.User, Until: t.Until,
		Framed: t.Framed, Most: 1, Filter: t.Filter,
	}}
	if err := w.storeFlow(pc, other); err != nil {
		return err
	}
	web.Redirect(pc.writer, pc.onward(flowConnect, other.handle))
	return nil
}

// onward returns the address of another flow.
func (pc *pageContext) onward(flow, handle string) string {
	return pc.root + "/" + cmp.Or(pc.lang, pc.words.Lang) + "/" + flow + "?" + url.Values{handleParameter: {handle}}.Encode()
}

// covers reports whether the client lets the person manage connections to this institution.
func (f filter) covers(b wire.Bank) bool {
	for _, capability := range f.Capabilities {
		if !slices.Contains(b.Capabilities, capability) {
			return false
		}
	}
	return overlap(f.Types, b.AccountTypes)
}

// stateText returns the state of a connection in words. It also reports whether the service cannot
// read the connection. The argument empty is true if the connection has no accounts.
func (s *flowConnection) stateText(pc *pageContext, empty bool) (string, bool) {
	words := pc.words
	switch {
	case empty && s.takesFiles():
		return words.Say("standing.empty"), false
	case s.c.State == "" && s.c.LastUpdate != nil:
		return words.Say("standing.read", dateText(words, passerelle.DateOf(*s.c.LastUpdate, pc.zone))), false
	case s.c.State == "" || s.c.State == passerelle.Validating:
		return words.Say("standing.reading"), false
	case s.c.State.Resolution() == passerelle.ByRetry:
		return words.Say("standing.retry"), true
	}
	return words.Say("standing.person"), true
}

// manage adds the content that only people who manage their connections see.
func (w *Webview) manage(pc *pageContext, s *flowConnection, b *sharingBody) error {
	filled, err := bankstore.From(w.DB).ConnectionsWithAccounts(pc.context(), pc.domain.ID, s.c.ID)
	if err != nil {
		return fmt.Errorf("find the accounts of connection %d: %w", s.c.ID, err)
	}
	text, bad := s.stateText(pc, !filled[s.c.ID])
	b.Standing, b.Forget = text, s.address(pc, "step", stepForget)
	if s.takesFiles() {
		b.Files = s.address(pc, "step", stepFiles)
	}
	if bad {
		mend, err := w.stateBody(pc, s, stepRepair)
		if err != nil {
			return err
		}
		b.Mend = &mend
	}
	b.Title = s.bank.Name
	if s.Connection == 0 {
		b.Back = pc.to(s.flowSession)
	}
	b.Done, err = w.changed(pc, s)
	return err
}

// changed returns the text that confirms the person's last change to a connection.
func (w *Webview) changed(pc *pageContext, s *flowConnection) (string, error) {
	switch step := pc.step(); {
	case !pc.reading():
	case step == stepRepair && s.c.State == "":
		return pc.words.Say("done.mended", s.bank.Name), nil
	case step == stepSaved:
		things, err := w.sharedOf(pc, s)
		if err != nil || things == "" {
			return pc.words.Say("done.nothing", s.client.Name, s.bank.Name), err
		}
		return pc.words.Say("done.saved", s.client.Name, things, s.bank.Name), nil
	}
	return "", nil
}

// manageConnection shows the page of the current step: the question whether to delete the
// connection, the upload of files, or the items that the person can share.
func (w *Webview) manageConnection(pc *pageContext, s *flowConnection) error {
	switch {
	case pc.step() == stepForget:
		return w.confirmDeletion(pc, s)
	case pc.step() == stepFiles && s.takesFiles():
		return w.handOver(pc, s, nil, false)
	}
	return w.showSharing(pc, s)
}

// shownConnection is the value of the hidden field shownParameter. It proves that a flow has shown
// a connection of its user to the person. Forms from processes of the previous version do not have
// this field.
type shownConnection struct {
	User       passerelle.UserID
	Connection passerelle.ConnectionID
}

const shownParameter = "shown"

// confirmDeletion shows a page that asks whether to delete a connection. It deletes nothing.
func (w *Webview) confirmDeletion(pc *pageContext, s *flowConnection) error {
	body := s.body(pc, "forget")
	body.Message, body.Step, body.Back = "", "forget", s.address(pc)
	body.Text = pc.words.Say("forget.text", s.client.Name)
	var err error
	if body.Shown, err = w.sealer.Seal(shownParameter, shownConnection{s.User, s.c.ID}); err != nil {
		return err
	}
	return pages.Send(pc.writer, w.flowPage(pc, s.flowSession, "forget", body.Title, body))
}

// deleteConnection deletes a connection. The data that was read through it is hidden immediately,
// and erased soon after. When the form proves that the connection was the person's and no longer
// exists, the person sees the same page as after a deletion, because an earlier request with the
// same form may have deleted it.
func (w *Webview) deleteConnection(pc *pageContext, t *flowSession, form url.Values) error {
	id, err := t.about(pc)
	if t.Flow != flowManage || err != nil || id == 0 || t.User == 0 {
		return errUnread
	}
	err = w.Aggregation.Disconnect(pc.context(), pc.domain, t.User, id)
	var was shownConnection
	deleted := errors.Is(err, passerelle.NotFound) && w.sealer.Open(shownParameter, form.Get(shownParameter), &was) && was == (shownConnection{t.User, id})
	if err != nil && !deleted {
		return fmt.Errorf("delete connection %d: %w", id, err)
	}
	t.Deleted = id
	if err := w.storeFlow(pc, t); err != nil {
		return err
	}
	return w.showDeleted(pc, t)
}

// showDeleted redirects the person to the list of connections. If the client's link names the
// deleted connection, showDeleted ends the flow instead.
func (w *Webview) showDeleted(pc *pageContext, t *flowSession) error {
	if t.Connection == t.Deleted {
		return w.finishFlow(pc, t, t.managed())
	}
	web.Redirect(pc.writer, pc.to(t, "step", stepEnded))
	return nil
}
