package webview

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
)

// More steps that an address may name.
const (
	// stepMore: something was shared, and another connection may be made.
	stepMore = "more"
	// stepRepair: a person who manages their connections goes on with one.
	stepRepair = "repair"
	// stepForget: the person wants to delete a connection, and is asked whether
	// that is so.
	stepForget = "forget"
)

// stop is a connection at which a person has arrived, with its institution.
type stop struct {
	*traveller
	c    store.Connection
	bank wire.Bank
}

// pass answers with the page on which a journey is at this moment.
func (w *Webview) pass(v *visit, t *traveller) error {
	if v.reading() && v.step() == stepLeave {
		return w.giveUp(v, t)
	}
	if t.User == 0 && t.Flow != flowConnect {
		return w.askForCode(v, t)
	}
	id, err := t.about(v)
	switch {
	case err != nil:
		return err
	case id != 0:
		return w.visitConnection(v, t, id)
	case t.Flow == flowManage:
		return w.list(v, t)
	case v.step() == stepMore || len(t.Made) >= t.Most:
		return w.offerMore(v, t)
	}
	return w.chooseInstitution(v, t)
}

// about is the connection that the address is about, or else the link; zero for
// none.
func (t *traveller) about(v *visit) (passerelle.ConnectionID, error) {
	text := v.request.URL.Query().Get(connectionStep)
	if text == "" {
		return t.Connection, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || t.User == 0 {
		return 0, errNoPage
	}
	return passerelle.ConnectionID(id), nil
}

// arriveAt loads a connection of the person.
func (w *Webview) arriveAt(v *visit, t *traveller, id passerelle.ConnectionID) (*stop, error) {
	c, err := w.Aggregation.Connection(v.context(), v.domain, t.User, id)
	if err != nil {
		return nil, err
	}
	b, err := w.bankOf(v, c)
	return &stop{t, c, b}, err
}

// visitConnection shows where a connection stands: what keeps it from being read,
// and when nothing does, what the flow is for.
func (w *Webview) visitConnection(v *visit, t *traveller, id passerelle.ConnectionID) error {
	s, err := w.arriveAt(v, t, id)
	if errors.Is(err, passerelle.NotFound) && t.Deleted == id {
		return w.forgotten(v, t)
	}
	if err != nil {
		return err
	}
	settled, err := w.settled(v, s)
	switch {
	case err != nil:
		return err
	case t.Flow == flowManage && (settled || v.step() != stepRepair):
		return w.manageConnection(v, s)
	case !settled:
		return w.mend(v, s)
	case t.Flow == flowReconnect:
		return w.depart(v, t, t.reconnected(s.c))
	}
	return w.showSharing(v, s)
}

// settled reports whether there is nothing to be done about a connection.
func (w *Webview) settled(v *visit, s *stop) (bool, error) {
	concerned, err := w.concerns(v, s)
	return !concerned || s.c.State == "" && !s.renews(), err
}

// mend shows what keeps a connection from being read, as soon as that is known.
func (w *Webview) mend(v *visit, s *stop) error {
	if s.c.State == passerelle.Validating || s.c.Locked && s.c.State != "" {
		return w.waitForBank(v, s)
	}
	return w.stand(v, s)
}

// renews reports whether the client wants new credentials, and there have been
// none since the link was opened.
func (s *stop) renews() bool { return s.Flow == flowReconnect && s.Reset && s.c.Sync <= s.Sync }

// concerns reports whether the connection goes through one of the sources that the
// link is about.
func (w *Webview) concerns(v *visit, s *stop) (bool, error) {
	if len(s.Sources) == 0 {
		return true, nil
	}
	sources, err := w.DB.SourcesOf(v.context(), v.domain.ID, s.c.ID)
	if err != nil {
		return false, fmt.Errorf("list the sources of connection %d: %w", s.c.ID, err)
	}
	return slices.ContainsFunc(sources, func(one store.ConnectionSource) bool { return slices.Contains(s.Sources, one.Name) }), nil
}

// journeyBody is what every page of a journey shows.
type journeyBody struct {
	frame
	Title, Text string
	// Bank is the name of the institution, and Message what it says.
	Bank, Message   string
	Problem, Notice string
	// Action is where forms go, Step what comes with them, and Button the text of
	// the one there is.
	Action, Step, Button string
	Questions            []question
	// After is in how many seconds the page sends its form by itself, 0 for never.
	After int
	// Address is where the person goes on, and Apart that it is in a window of its
	// own, with Ticket instead of a cookie.
	Address, Ticket string
	Apart           bool
	// Back and Leave lead to what comes before, and to the client; LeaveText is what
	// the latter is called.
	Back, Leave, LeaveText string
}

// journeyFrame surrounds the pages of a journey.
func (v *visit) journeyFrame(t *traveller) frame {
	f := frame{Seller: t.client.Name, Form: t.Form}
	for _, other := range words.Languages() {
		if other.Lang != v.words.Lang {
			f.Languages = append(f.Languages, translation{other.Lang, other.Say("language"), v.inTongue(other.Lang, v.where(t))})
		}
	}
	return f
}

// body is that of a page whose texts are under a key.
func (v *visit) body(t *traveller, key string) journeyBody {
	leaving := "journey.leave"
	if t.Flow == flowManage {
		leaving = "list.done" // there is nothing to go on with
	} else if t.Home != "" {
		leaving = "share.back"
	}
	return journeyBody{
		frame: v.journeyFrame(t), Title: v.words.Say(key + ".title"), Text: v.words.Say(key + ".text"), Problem: v.problem.key, Notice: v.notice,
		Action: v.to(t), LeaveText: v.words.Say(leaving),
	}
}

// body is that of a page about a connection.
func (s *stop) body(v *visit, key string) journeyBody {
	b := v.body(s.traveller, key)
	b.Title = v.words.Say(key+".title", s.bank.Name)
	b.Bank, b.Message, b.Action, b.Leave = s.bank.Name, s.c.Message, s.address(v), s.address(v, "step", stepLeave)
	return b
}

// address is the page of the connection.
func (s *stop) address(v *visit, pairs ...string) string {
	return v.to(s.traveller, append([]string{connectionStep, strconv.FormatInt(int64(s.c.ID), 10)}, pairs...)...)
}

// journeyPage is a page of a journey, which pages of the client may show inside
// them.
func (w *Webview) journeyPage(v *visit, t *traveller, name, title string, body any) web.Page {
	page := web.Page{Name: name, Words: v.words, Title: title, Body: body, Brand: brandOf(t.client), Ancestors: framers(t.client)}
	if origin := web.Origin(t.RedirectURI); origin != "" && origin != web.Origin(v.domain.BaseURL) {
		page.FormTargets = []string{origin}
	}
	if v.problem.key != "" {
		page.Status = http.StatusUnprocessableEntity
	}
	return page
}

// looks counts how often a page has looked whether something has happened.
func (v *visit) looks() int {
	n, _ := strconv.Atoi(v.request.URL.Query().Get("look"))
	return max(n, 0)
}

// The pages that wait for an institution look again less and less often; after
// some time they offer to go on without, and nobody asks by themselves any more.
const (
	slowestLook = 15 * time.Second
	manyLooks   = 10
	mostLooks   = 60
)

// waitForBank shows that the institution is being read.
func (w *Webview) waitForBank(v *visit, s *stop) error {
	body, n := s.body(v, "reading"), v.looks()
	if body.Message = ""; n < manyLooks {
		body.Leave = ""
	}
	page := w.journeyPage(v, s.traveller, "reading", body.Title, body)
	page.Refresh = min(max(time.Duration(n)*time.Second, shortestLook), slowestLook)
	page.RefreshTo = s.address(v, "look", strconv.Itoa(n+1), "step", v.step())
	return pages.Send(v.writer, page)
}

// standing is what is to be done about a state, and what the form of its page is
// about; without one there is nothing a person can do.
type standing struct{ key, step string }

var standings = map[passerelle.ConnectionState]standing{
	passerelle.AdditionalInformationNeeded: {"stand.question", "fill"},
	passerelle.Wrongpass:                   {"stand.wrong", "fill"},
	passerelle.PasswordExpired:             {"stand.outdated", "fill"},
	passerelle.SCARequired:                 {"stand.renew", "again"},
	passerelle.WebauthRequired:             {"stand.page", "bank"},
	passerelle.Decoupled:                   {"stand.app", "resume"},
	passerelle.ActionNeeded:                {"stand.action", "again"},
	passerelle.RateLimiting:                {"stand.limited", ""},
	passerelle.WebsiteUnavailable:          {"stand.away", "again"},
	passerelle.Bug:                         {"stand.bug", "again"},
	passerelle.NotSupported:                {"stand.unsupported", ""},
	"":                                     {"stand.reset", "fill"},
}

// stand says what keeps a connection from being read, and what to do about it.
func (w *Webview) stand(v *visit, s *stop) error {
	here := standings[s.c.State]
	if s.bank.UUID == "" {
		here = standings[passerelle.NotSupported]
	}
	body := s.body(v, here.key)
	if here.step == "fill" {
		fields, err := w.wanted(v, s.c, s.bank)
		if err != nil {
			return err
		}
		body.Questions = questions(fields, v.given, v.problem.field)
		if len(fields) == 0 {
			here.step = "bank" // credentials are given there
		}
	}
	if body.Step = here.step; here.step != "" {
		body.Button = v.words.Say("stand." + here.step + ".button")
	}
	if s.Flow == flowConnect && s.c.Established == nil {
		body.Back = v.to(s.traveller)
	}
	if here.step == "bank" {
		return w.standAtPage(v, s, body)
	}
	page := w.journeyPage(v, s.traveller, "stand", body.Title, nil)
	if here.step == "resume" && v.looks() < mostLooks && v.notice == "" {
		page.Module, page.Fallback, body.After = "resume.mjs", readAgain, int(askAgain.Seconds())
	}
	body.Action = s.address(v, "look", strconv.Itoa(v.looks()), "step", v.step())
	page.Body = body
	return pages.Send(v.writer, page)
}

// standAtPage leads to the institution's own page. Inside a page of the client's
// that is in another window, since no institution shows itself inside of others;
// this one then looks for what came of it.
func (w *Webview) standAtPage(v *visit, s *stop, body journeyBody) error {
	if s.Framed {
		ticket, err := w.sealer.Seal(ticketName, ticket{s.handle, s.journey})
		if err != nil {
			return err
		}
		body.Apart, body.Ticket = true, ticket
		page := w.journeyPage(v, s.traveller, "stand", body.Title, body)
		page.Refresh, page.RefreshTo = readAgain, s.address(v, "step", v.step())
		return pages.Send(v.writer, page)
	}
	if v.step() == stepOnward && s.c.State == passerelle.WebauthRequired && s.c.URL != "" {
		return w.leadOn(v, s, body)
	}
	return pages.Send(v.writer, w.journeyPage(v, s.traveller, "stand", body.Title, body))
}

// ticket is what a journey that is made inside another page takes along into a
// window of its own, where browsers keep other cookies.
type ticket struct {
	Handle  string
	Journey journey
}

const ticketName = "ticket"

// leadOn takes the person to the page of the institution, in the browser that is
// expected back from there.
func (w *Webview) leadOn(v *visit, s *stop, body journeyBody) error {
	if web.Origin(s.c.URL) == "" {
		return fmt.Errorf("connection %d is to be allowed at an address that no browser can open", s.c.ID)
	}
	if err := w.markDeparture(v, s.c.ID); err != nil {
		return err
	}
	body.Address = s.c.URL
	page := w.journeyPage(v, s.traveller, "leading", body.Title, body)
	page.RefreshTo = s.c.URL
	return pages.Send(v.writer, page)
}

// goOn goes on with a connection and sends the browser to where it then stands.
// One that is read already is shown; what the person can mend is shown at once.
func (w *Webview) goOn(v *visit, s *stop, r aggregation.Request) error {
	r.Background, r.Landing = true, v.landing(s.traveller)
	_, err := w.Aggregation.Resume(v.context(), v.domain, s.User, s.c.ID, r)
	v.problem, v.notice = entryProblem(err), noticeOf(err)
	switch {
	case v.problem.key != "" || v.notice != "":
		return w.visitConnection(v, s.traveller, s.c.ID)
	case err != nil && !errors.Is(err, passerelle.Conflict):
		return fmt.Errorf("go on with connection %d: %w", s.c.ID, err)
	}
	web.Redirect(v.writer, s.address(v, "look", strconv.Itoa(v.looks()+1), "step", v.step()))
	return nil
}

// entryProblem is what a person can mend of what they filled in.
func entryProblem(err error) problem {
	var told *passerelle.Error
	switch {
	case !errors.As(err, &told) || told.Kind != passerelle.Invalid:
		return problem{}
	case told.Code == string(passerelle.Wrongpass):
		return problem{key: "problem.refused"}
	}
	return problem{key: "problem.entry", field: told.Field}
}

// fillIn gives the institution what it asked for, and nothing else.
func (w *Webview) fillIn(v *visit, s *stop, form url.Values) error {
	fields, err := w.wanted(v, s.c, s.bank)
	if err != nil {
		return err
	}
	v.given = fieldValues(form)
	values := map[string]string{}
	for _, f := range fields {
		if value, given := v.given[f.Name]; given {
			values[f.Name] = value
		} else if f.Required {
			v.problem = problem{"problem.entry", f.Name}
			return w.visitConnection(v, s.traveller, s.c.ID)
		}
	}
	return w.goOn(v, s, aggregation.Request{Values: values})
}

// tryAgain has the institution read with the person present.
func (w *Webview) tryAgain(v *visit, s *stop, _ url.Values) error {
	return w.goOn(v, s, aggregation.Request{})
}

// confirmed says that the person has approved elsewhere.
func (w *Webview) confirmed(v *visit, s *stop, _ url.Values) error {
	return w.goOn(v, s, aggregation.Request{Resume: true})
}

// leaveForPage asks the institution for the address of its page and leads there.
func (w *Webview) leaveForPage(v *visit, s *stop, form url.Values) error {
	wish := aggregation.Webauth{Connection: s.c.ID, Landing: v.landing(s.traveller)}
	c, _, err := w.Aggregation.BeginWebauth(v.context(), v.domain, s.User, wish)
	if v.notice = noticeOf(err); v.notice != "" {
		return w.visitConnection(v, s.traveller, s.c.ID)
	}
	if err != nil && !errors.Is(err, passerelle.Conflict) && !errors.Is(err, passerelle.Invalid) {
		return fmt.Errorf("set out for the institution of connection %d: %w", s.c.ID, err)
	}
	if s.c = c; err == nil && form.Has(ticketName) && c.State == passerelle.WebauthRequired && c.URL != "" {
		return w.leadOn(v, s, s.body(v, standings[c.State].key))
	}
	if form.Has(ticketName) {
		return w.arrived(v, err == nil && c.State == "")
	}
	web.Redirect(v.writer, v.to(s.traveller, connectionStep, v.request.URL.Query().Get(connectionStep), "step", stepOnward))
	return nil
}

// answers are what forms about a connection can be about, by their field "step".
var answers = map[string]func(*Webview, *visit, *stop, url.Values) error{
	"fill":   (*Webview).fillIn,
	"again":  (*Webview).tryAgain,
	"resume": (*Webview).confirmed,
	"bank":   (*Webview).leaveForPage,
	"share":  (*Webview).share,
	"forget": (*Webview).forget,
}

// undertakings are what the other forms of a journey can be about.
var undertakings = map[string]func(*Webview, *visit, *traveller, url.Values) error{
	"code":   (*Webview).takeCode,
	"begin":  (*Webview).begin,
	"finish": (*Webview).finish,
	"add":    (*Webview).add,
}

// reply takes a form that was sent. Whatever comes of it, a page of the journey
// shows it.
func (w *Webview) reply(v *visit) error {
	if web.Forged(v.request) {
		return errStrange
	}
	form, err := v.form()
	if err != nil {
		return errUnread
	}
	t, err := w.sentBy(v, form)
	switch {
	case err != nil:
		return w.strand(v, t, err)
	case !t.genuine(form):
		return errStrange
	}
	if undertake, known := undertakings[form.Get("step")]; known {
		return undertake(w, v, t, form)
	}
	answer, known := answers[form.Get("step")]
	id, err := t.about(v)
	if !known || err != nil || id == 0 || t.User == 0 {
		return errUnread
	}
	s, err := w.arriveAt(v, t, id)
	if err != nil {
		return err
	}
	return answer(w, v, s, form)
}

// sentBy is whose form it is: that of the cookie, or in a window of its own that
// of the ticket.
func (w *Webview) sentBy(v *visit, form url.Values) (*traveller, error) {
	if !form.Has(ticketName) {
		return w.findJourney(v, v.request.URL.Query().Get(handleParameter))
	}
	var held ticket
	if form.Get("step") != "bank" || !w.sealer.Open(ticketName, form.Get(ticketName), &held) {
		return nil, errUsed
	}
	t := &traveller{journey: held.Journey}
	t.handle = held.Handle
	return w.resumed(v, t)
}

// underWay is a connection to the institution that the person has just begun, so
// that pressing a button twice makes one.
func (w *Webview) underWay(v *visit, t *traveller, b wire.Bank) (passerelle.ConnectionID, error) {
	latest, err := w.DB.Connections(v.context(), v.domain.ID, t.User, store.Window{Limit: 10, Descending: true})
	if err != nil {
		return 0, fmt.Errorf("list the connections of user %d: %w", t.User, err)
	}
	i := slices.IndexFunc(latest, func(c store.Connection) bool {
		return c.Connector == b.UUID && c.State == passerelle.Validating && c.Established == nil && c.Locked
	})
	if i < 0 {
		return 0, nil
	}
	return latest[i].ID, nil
}
