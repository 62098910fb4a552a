package webview

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
)

// listBody is what the page shows that lists a person's connections.
type listBody struct {
	journeyBody
	Connections []managed
	// Next leads to those that follow.
	Next string
}

// managed is a connection on the list.
type managed struct {
	institution
	// Standing says how it fares, and Bad that it needs the person.
	Standing string
	Bad      bool
}

// managedPage is how many connections are looked at for a page of the list.
const managedPage = 100

// list shows the connections of a person, oldest first.
func (w *Webview) list(v *visit, t *traveller) error {
	after, _ := strconv.ParseInt(v.request.URL.Query().Get("after"), 10, 64)
	all, err := w.DB.Connections(v.context(), v.domain.ID, t.User, store.Window{From: []any{after}, Limit: managedPage})
	if err != nil {
		return fmt.Errorf("list the connections of user %d: %w", t.User, err)
	}
	banks, err := w.Aggregation.Banks(v.context(), v.domain)
	if err != nil {
		return fmt.Errorf("list the institutions: %w", err)
	}
	of := map[string]wire.Bank{}
	for _, b := range banks {
		of[b.UUID] = b
	}
	body := listBody{journeyBody: v.body(t, "list")}
	body.Leave = v.to(t, "step", stepLeave)
	for _, c := range all {
		b, known := of[c.Connector]
		if !known {
			b.Name = v.words.Say("bank")
		}
		if known && !t.Filter.covers(b) {
			continue
		}
		s := &stop{t, c, b}
		text, bad := s.standing(v.words)
		body.Connections = append(body.Connections, managed{v.institution(b, s.address(v)), text, bad})
	}
	if len(all) == managedPage {
		body.Next = v.to(t, "after", connectionText(all[len(all)-1].ID))
	}
	return pages.Send(v.writer, w.journeyPage(v, t, "list", body.Title, body))
}

// added ends the handle of a journey that was begun on another.
const added = "-add"

// add begins a journey to another connection of a person who manages theirs, which
// leads back here. There is one at a time, or browsers would keep ever more of them.
func (w *Webview) add(v *visit, t *traveller, _ url.Values) error {
	if t.Flow != flowManage || t.User == 0 {
		return errUnread
	}
	other := &traveller{client: t.client, journey: journey{
		handle: t.handle + added, Home: t.handle, Flow: flowConnect, Form: t.Form, Client: t.Client, User: t.User, Until: t.Until,
		Framed: t.Framed, Most: 1, Filter: t.Filter,
	}}
	if err := w.keepJourney(v, other); err != nil {
		return err
	}
	web.Redirect(v.writer, v.onward(flowConnect, other.handle))
	return nil
}

// onward is an address on the way of another journey.
func (v *visit) onward(flow, handle string) string {
	return v.root + "/" + cmp.Or(v.lang, v.words.Lang) + "/" + flow + "?" + url.Values{handleParameter: {handle}}.Encode()
}

// covers reports whether connections to an institution are of those a client wants
// to be managed.
func (f filter) covers(b wire.Bank) bool {
	for _, capability := range f.Capabilities {
		if !slices.Contains(b.Capabilities, capability) {
			return false
		}
	}
	return overlap(f.Types, b.AccountTypes)
}

// standing says in words how a connection fares, and whether it needs the person.
func (s *stop) standing(words web.Words) (text string, bad bool) {
	switch {
	case s.c.State == "" && s.c.LastUpdate != nil:
		return words.Say("standing.read", dateText(words, passerelle.DateOf(*s.c.LastUpdate, time.UTC))), false
	case s.c.State == "" || s.c.State == passerelle.Validating:
		return words.Say("standing.reading"), false
	case s.c.State.Resolution() == passerelle.ByRetry:
		return words.Say("standing.retry"), true
	}
	return words.Say("standing.person"), true
}

// manage adds what only those see who manage their connections.
func (b *sharingBody) manage(v *visit, s *stop) {
	text, bad := s.standing(v.words)
	b.Standing, b.Forget = text, s.address(v, "step", stepForget)
	if bad {
		b.Repair = s.address(v, "step", stepRepair)
	}
	if v.step() == "saved" && v.reading() {
		b.Notice = "notice.saved"
	}
	b.Title = s.bank.Name
	if s.Connection == 0 {
		b.Back = v.to(s.traveller)
	}
}

// manageConnection shows what is shared of a connection, or asks whether it is to
// be deleted.
func (w *Webview) manageConnection(v *visit, s *stop) error {
	if v.step() == stepForget {
		return w.confirmForgetting(v, s)
	}
	return w.showSharing(v, s)
}

// confirmForgetting asks whether a connection is to be deleted, before anything is
// done.
func (w *Webview) confirmForgetting(v *visit, s *stop) error {
	body := s.body(v, "forget")
	body.Message, body.Step, body.Back = "", "forget", s.address(v)
	body.Text = v.words.Say("forget.text", s.client.Name)
	return pages.Send(v.writer, w.journeyPage(v, s.traveller, "forget", body.Title, body))
}

// forget deletes a connection with everything that was read through it.
func (w *Webview) forget(v *visit, s *stop, _ url.Values) error {
	if s.Flow != flowManage {
		return errUnread
	}
	err := w.Aggregation.Disconnect(v.context(), v.domain, s.User, s.c.ID)
	if err != nil && !errors.Is(err, passerelle.NotFound) {
		return fmt.Errorf("delete connection %d: %w", s.c.ID, err)
	}
	s.Deleted = s.c.ID
	if err := w.keepJourney(v, s.traveller); err != nil {
		return err
	}
	return w.forgotten(v, s.traveller)
}

// forgotten goes on after a deletion: with the other connections, unless the link
// is about the one that is gone.
func (w *Webview) forgotten(v *visit, t *traveller) error {
	if t.Connection == t.Deleted {
		return w.depart(v, t, t.managed())
	}
	web.Redirect(v.writer, v.to(t))
	return nil
}
