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
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/web"
	"passerelle/internal/webview/question"
	"passerelle/internal/wire"
)

// These are further values of the step parameter.
const (
	// stepMore is set after the person has shared something.
	stepMore = "more"
	// stepDone is set when the person has shared something and goes back to the client.
	stepDone = "done"
	// stepRepair is set when a person who manages connections repairs one of them.
	stepRepair = "repair"
	// stepForget is set when the person wants to delete a connection and must confirm the deletion.
	stepForget = "forget"
)

// flowConnection is the connection in a flow, with its institution.
type flowConnection struct {
	*flowSession
	c    bankstore.Connection
	bank wire.Bank
}

// showFlow shows the page for the current state of a flow.
func (w *Webview) showFlow(pc *pageContext, t *flowSession) error {
	if left, err := w.leaveFlow(pc, t); left {
		return err
	}
	if t.User == 0 && t.Flow != flowConnect {
		return w.askForCode(pc, t)
	}
	id, err := t.about(pc)
	switch {
	case err != nil:
		return err
	case id != 0:
		return w.showConnection(pc, t, id)
	case t.Flow == flowManage:
		return w.list(pc, t)
	case pc.step() == stepMore || len(t.Made) >= t.Most:
		return w.offerMore(pc, t)
	}
	return w.chooseInstitution(pc, t)
}

// leaveFlow ends the flow when the person stops or has finished, and reports whether it did.
func (w *Webview) leaveFlow(pc *pageContext, t *flowSession) (bool, error) {
	switch {
	case !pc.reading():
		return false, nil
	case pc.step() == stepLeave:
		return true, w.cancelFlow(pc, t)
	case pc.step() == stepDone && len(t.Made) > 0:
		return true, w.finishConnect(pc, t)
	}
	return false, nil
}

// about returns the connection in the address. Without one, it returns the connection of the link,
// or zero.
func (t *flowSession) about(pc *pageContext) (passerelle.ConnectionID, error) {
	text := pc.request.URL.Query().Get(connectionStep)
	if text == "" {
		return t.Connection, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || t.User == 0 {
		return 0, errNoPage
	}
	return passerelle.ConnectionID(id), nil
}

// loadConnection loads a connection that belongs to the person.
func (w *Webview) loadConnection(pc *pageContext, t *flowSession, id passerelle.ConnectionID) (*flowConnection, error) {
	c, err := w.Aggregation.Connection(pc.context(), pc.domain, t.User, id)
	if err != nil {
		return nil, err
	}
	b, err := w.bankOf(pc, c)
	if b.UUID != "" {
		pc.nameInstitutionsLike(b)
	}
	return &flowConnection{t, c, b}, err
}

// showConnection shows why a connection cannot be read. For a connection that works, it continues
// the flow. A person who manages connections gets the page for managing this connection, unless the
// connection cannot be read and the person is repairing it.
func (w *Webview) showConnection(pc *pageContext, t *flowSession, id passerelle.ConnectionID) error {
	s, err := w.loadConnection(pc, t, id)
	if errors.Is(err, passerelle.NotFound) && t.Deleted == id {
		return w.showDeleted(pc, t)
	}
	if err != nil {
		return err
	}
	settled, err := w.needsNothing(pc, s)
	switch {
	case err != nil:
		return err
	case t.Flow == flowManage && (settled || pc.step() != stepRepair):
		return w.manageConnection(pc, s)
	case !settled:
		return w.showProblem(pc, s)
	case t.Flow == flowReconnect:
		return w.finishFlow(pc, t, t.reconnected(s.c))
	}
	return w.showSharing(pc, s)
}

// needsNothing reports whether the connection needs no action from the person.
func (w *Webview) needsNothing(pc *pageContext, s *flowConnection) (bool, error) {
	concerned, err := w.usesLinkedSource(pc, s)
	if err != nil || !concerned || s.c.State != "" {
		return !concerned, err
	}
	wants, err := w.wantsNewCredentials(pc, s)
	return !wants, err
}

// showProblem shows why a connection cannot be read. While a sync is reading the connection, it
// shows a waiting page.
func (w *Webview) showProblem(pc *pageContext, s *flowConnection) error {
	if s.c.State == passerelle.Validating || s.c.Locked && s.c.State != "" {
		return w.waitForBank(pc, s)
	}
	return w.showState(pc, s)
}

// wantsNewCredentials reports whether the client requests new credentials that the person has not
// entered since opening the link. A person who signs in only on the institution's page has no
// credentials to enter.
func (w *Webview) wantsNewCredentials(pc *pageContext, s *flowConnection) (bool, error) {
	if s.Flow != flowReconnect || !s.Reset || s.Supplied {
		return false, nil
	}
	fields, err := w.wanted(pc, s.c, s.bank)
	return len(fields) > 0 || s.bank.UUID == "", err
}

// usesLinkedSource reports whether the connection uses one of the sources that the link names. It
// returns true for a link without sources.
func (w *Webview) usesLinkedSource(pc *pageContext, s *flowConnection) (bool, error) {
	if len(s.Sources) == 0 {
		return true, nil
	}
	sources, err := bankstore.From(w.DB).SourcesOf(pc.context(), pc.domain.ID, s.c.ID)
	if err != nil {
		return false, fmt.Errorf("list the sources of connection %d: %w", s.c.ID, err)
	}
	return slices.ContainsFunc(sources, func(one bankstore.ConnectionSource) bool { return slices.Contains(s.Sources, one.Name) }), nil
}

// flowBody is the content that most pages of a flow have.
type flowBody struct {
	frame
	Title, Text string
	// Bank is the name of the institution. Message is the institution's message.
	Bank, Message   string
	Problem, Notice string
	// Done confirms the last action. Slow is set when a wait takes longer than usual.
	Done string
	Slow bool
	// Action is the target of forms. Step is the value of their field "step". Button is the text of
	// the only button.
	Action, Step, Button string
	Questions            []question.Question
	// After is the number of seconds until the page's script sends the form, or 0 for never.
	// NextPoll is the address that shows the result.
	After    int
	NextPoll string
	// Address is the address at which the person continues. Apart is set when the form opens
	// another window. That window gets Ticket instead of a cookie.
	Address, Ticket string
	Apart           bool
	// Seen is the number of the last read that the page shows. It is empty for a form that does not
	// open the institution's page.
	Seen string
	// Shown is the value of the field shownParameter, for the form that deletes a connection.
	Shown string
	// Back is the address of the previous page. Leave is the address that leaves the flow, and
	// LeaveText is the text of that link.
	Back, Leave, LeaveText string
}

// flowFrame returns the frame of the pages of a flow.
func (pc *pageContext) flowFrame(t *flowSession) frame {
	f := frame{Seller: t.client.Name, Form: t.Form}
	for _, other := range words.Languages() {
		if other.Lang != pc.words.Lang {
			f.Languages = append(f.Languages, translation{other.Lang, other.Say("language"), pc.inTongue(other.Lang, pc.where(t))})
		}
	}
	return f
}

// body returns the body of a page. The keys of the page's texts begin with the argument key.
func (pc *pageContext) body(t *flowSession, key string) flowBody {
	leaving := "flow.leave"
	if t.Flow == flowManage {
		leaving = "list.done" // the person has nothing to continue
	} else if t.Parent != "" {
		leaving = "share.back"
	}
	return flowBody{
		frame: pc.flowFrame(t), Title: pc.words.Say(key + ".title"), Text: pc.words.Say(key + ".text"), Problem: pc.problem.key, Notice: pc.notice,
		Action: pc.to(t), LeaveText: pc.words.Say(leaving),
	}
}

// body returns the body of a page about a connection.
func (s *flowConnection) body(pc *pageContext, key string) flowBody {
	b := pc.body(s.flowSession, key)
	b.Title = pc.words.Say(key+".title", s.bank.Name)
	b.Bank, b.Message, b.Action, b.Leave = s.bank.Name, s.c.Message, s.address(pc), s.address(pc, "step", stepLeave)
	return b
}

// address returns the address of the connection's page.
func (s *flowConnection) address(pc *pageContext, pairs ...string) string {
	return pc.to(s.flowSession, append([]string{connectionStep, strconv.FormatInt(int64(s.c.ID), 10)}, pairs...)...)
}

// flowPage returns a page of a flow. The client's own pages may show it in a frame.
func (w *Webview) flowPage(pc *pageContext, t *flowSession, name, title string, body any) web.Page {
	page := web.Page{Name: name, Words: pc.words, Title: title, Body: body, Brand: brandOf(t.client), Ancestors: access.FrameOrigins(t.client), Sheets: sheets}
	if origin := web.Origin(t.RedirectURI); origin != "" && origin != web.Origin(pc.domain.BaseURL) {
		page.FormTargets = []string{origin}
	}
	if pc.problem.key != "" {
		page.Status, page.Alert = http.StatusUnprocessableEntity, pc.words.Say("problem.title")
	}
	return page
}

// polls returns how often the page has asked for the current state.
func (pc *pageContext) polls() int {
	n, _ := strconv.Atoi(pc.request.URL.Query().Get("look"))
	return max(n, 0)
}

// The page that waits for an institution asks for the state at growing intervals, up to
// slowestPoll. After manyPolls, the page says that the person can leave and come back later. The
// page that waits for an approval in another app asks at most maxPolls times without a click.
const (
	slowestPoll = 15 * time.Second
	manyPolls   = 10
	maxPolls    = 60
)

// nextPoll returns the address of the current page for the next poll.
func (s *flowConnection) nextPoll(pc *pageContext) string {
	return s.address(pc, "look", strconv.Itoa(pc.polls()+1), "step", pc.step())
}

// waitForBank shows that the service is reading the institution.
func (w *Webview) waitForBank(pc *pageContext, s *flowConnection) error {
	body, n := s.body(pc, "reading"), pc.polls()
	if s.Flow == flowConnect {
		body.frame = body.at(stepsOfConnect, 2)
	}
	body.Slow = n >= manyPolls
	body.Message = ""
	page := w.flowPage(pc, s.flowSession, "reading", body.Title, body)
	return pages.Send(pc.writer, watching(page, min(max(time.Duration(n)*time.Second, shortestPoll), slowestPoll), s.nextPoll(pc)))
}

// stateText has the key of the text about a state, and the step of the form on the state's page.
// The step is empty when the person can do nothing.
type stateText struct{ key, step string }

var stateTexts = map[passerelle.ConnectionState]stateText{
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

// showState shows why a connection cannot be read, and what the person can do about it.
func (w *Webview) showState(pc *pageContext, s *flowConnection) error {
	body, err := w.stateBody(pc, s, pc.step())
	if err != nil {
		return err
	}
	if s.Flow == flowConnect {
		body.frame = body.at(stepsOfConnect, 2)
		if body.Back, err = w.otherBanks(pc, s); err != nil {
			return err
		}
	}
	if body.Step == "bank" {
		return w.showBankLink(pc, s, body)
	}
	page := w.flowPage(pc, s.flowSession, "stand", body.Title, body)
	if body.After > 0 {
		page = watching(page, readAgain, "")
	}
	return pages.Send(pc.writer, page)
}

// otherBanks returns the address of the list of institutions. It returns an empty text without another
// institution, and for a connection that has worked before.
func (w *Webview) otherBanks(pc *pageContext, s *flowConnection) (string, error) {
	if s.c.Established != nil {
		return "", nil
	}
	all, err := w.offered(pc, s.Filter)
	if len(all) < 2 {
		return "", err
	}
	return pc.to(s.flowSession), nil
}

// stateBody returns the content about the state of a connection, and what the person can do about
// it. The form's address contains the argument step, unless the form opens the institution's page.
func (w *Webview) stateBody(pc *pageContext, s *flowConnection, step string) (flowBody, error) {
	here := stateTexts[s.c.State]
	if s.bank.UUID == "" {
		here = stateTexts[passerelle.NotSupported]
	}
	body := s.body(pc, here.key)
	if here.step == "fill" {
		var err error
		if body.Questions, err = w.questions(pc, s); err != nil {
			return body, err
		}
		if len(body.Questions) == 0 {
			here.step = "bank" // the person enters the fields on the institution's page
		}
	}
	if body.Step = here.step; here.step != "" {
		body.Button = pc.words.Say("stand." + here.step + ".button")
	}
	if here.step == "bank" {
		body.Seen = strconv.FormatInt(s.c.Sync, 10)
		return body, w.leadApart(s, &body)
	}
	if here.step == "resume" && pc.polls() < maxPolls && pc.notice == "" {
		body.After, body.NextPoll = int(askAgain.Seconds()), s.nextPoll(pc)
	}
	body.Action = s.address(pc, "look", strconv.Itoa(pc.polls()), "step", step)
	return body, nil
}

// questions returns the fields that a connection waits for, with the input in the last form. After
// wrong credentials for a new connection, the field of the login has the login that the person
// entered.
func (w *Webview) questions(pc *pageContext, s *flowConnection) ([]question.Question, error) {
	fields, err := w.wanted(pc, s.c, s.bank)
	typed := pc.values
	if err == nil && typed == nil && s.Flow == flowConnect && s.c.Established == nil && s.c.State == passerelle.Wrongpass {
		typed = map[string]string{}
		typed["login"], err = w.login(pc, s.c)
	}
	return question.All(fields, typed, pc.problem.wrong(fields)), err
}

// When the client shows the flow in a frame, leadApart makes the form open the institution's page
// in another window. Institutions do not allow frames.
func (w *Webview) leadApart(s *flowConnection, body *flowBody) error {
	if !s.Framed {
		return nil
	}
	var err error
	body.Apart = true
	body.Ticket, err = w.sealer.Seal(ticketName, ticket{s.handle, s.flowState})
	return err
}

// showBankLink shows the button for the institution's own page, or redirects the person to that
// page. When the button opens another window, the page with the button polls.
func (w *Webview) showBankLink(pc *pageContext, s *flowConnection, body flowBody) error {
	page := w.flowPage(pc, s.flowSession, "stand", body.Title, body)
	switch {
	case body.Apart:
		page = watching(page, readAgain, s.address(pc, "step", pc.step()))
	case pc.step() == stepOnward && s.c.State == passerelle.WebauthRequired && s.c.URL != "":
		return w.redirectToBank(pc, s, body)
	}
	return pages.Send(pc.writer, page)
}

// ticket gives a second window, which has other cookies, access to a flow in a frame.
type ticket struct {
	Handle string
	Flow   flowState
}

const ticketName = "ticket"

// redirectToBank redirects the person to the institution's page. It marks this browser, and only
// this browser can come back.
func (w *Webview) redirectToBank(pc *pageContext, s *flowConnection, body flowBody) error {
	if web.Origin(s.c.URL) == "" {
		return fmt.Errorf("connection %d is to be allowed at an address that no browser can open", s.c.ID)
	}
	if err := w.markDeparture(pc, s.c.ID); err != nil {
		return err
	}
	body.Address = s.c.URL
	page := w.flowPage(pc, s.flowSession, "leading", body.Title, body)
	page.RefreshTo = s.c.URL
	return pages.Send(pc.writer, page)
}

// resumeConnection continues a connection and redirects the browser to the connection's current
// page. When a sync is already reading the connection, it only redirects. Mistakes that the person
// can correct appear immediately, without a redirect.
func (w *Webview) resumeConnection(pc *pageContext, s *flowConnection, r aggregation.Request) error {
	r.Background, r.Landing = true, pc.landing(s.flowSession)
	_, err := w.Aggregation.Resume(pc.context(), pc.domain, s.User, s.c.ID, r)
	pc.problem, pc.notice = entryProblem(err), noticeOf(err)
	switch {
	case pc.problem.key != "" || pc.notice != "":
		return w.showConnection(pc, s.flowSession, s.c.ID)
	case err != nil && !errors.Is(err, passerelle.Conflict):
		return fmt.Errorf("go on with connection %d: %w", s.c.ID, err)
	}
	if s.Reset && !s.Supplied && err == nil && r.Values != nil && s.c.Fields == "" { // answers to a question are no credentials
		s.Supplied = true
		if err := w.storeFlow(pc, s.flowSession); err != nil {
			return err
		}
	}
	web.Redirect(pc.writer, s.nextPoll(pc))
	return nil
}

// entryProblem returns the mistake that an error reports in the entered values. The result is empty
// for other errors.
func entryProblem(err error) problem {
	var reported *passerelle.Error
	switch {
	case !errors.As(err, &reported) || reported.Kind != passerelle.Invalid:
		return problem{}
	case reported.Code == string(passerelle.Wrongpass):
		return problem{key: "problem.refused"}
	}
	return problem{key: "problem.entry", field: reported.Field}
}

// fillIn sends only the requested values to the institution.
func (w *Webview) fillIn(pc *pageContext, s *flowConnection, form url.Values) error {
	fields, err := w.wanted(pc, s.c, s.bank)
	if err != nil {
		return err
	}
	pc.values = fieldValues(form, fields)
	values := map[string]string{}
	for _, f := range fields {
		if value, supplied := pc.values[f.Name]; supplied {
			values[f.Name] = value
		} else if f.Required {
			pc.problem = problem{"problem.entry", f.Name}
			return w.showConnection(pc, s.flowSession, s.c.ID)
		}
	}
	return w.resumeConnection(pc, s, aggregation.Request{Values: values})
}

// tryAgain reads from the institution again while the person is present.
func (w *Webview) tryAgain(pc *pageContext, s *flowConnection, _ url.Values) error {
	return w.resumeConnection(pc, s, aggregation.Request{})
}

// confirmed continues a connection that the person has approved in another app.
func (w *Webview) confirmed(pc *pageContext, s *flowConnection, _ url.Values) error {
	return w.resumeConnection(pc, s, aggregation.Request{Resume: true})
}

// seenParameter is a hidden field of the form that opens the institution's page. Forms from
// processes of the previous version do not have it.
const seenParameter = "seen"

// openBankPage asks the institution for the address of its page, and redirects the person to that
// page. When an earlier request with the same form has asked, the person gets the same address.
func (w *Webview) openBankPage(pc *pageContext, s *flowConnection, form url.Values) error {
	wish := aggregation.Webauth{Connection: s.c.ID, Landing: pc.landing(s.flowSession)}
	if seen, err := strconv.ParseInt(form.Get(seenParameter), 10, 64); err == nil {
		wish.Seen = &seen
	}
	c, _, err := w.Aggregation.BeginWebauth(pc.context(), pc.domain, s.User, wish)
	if pc.notice = noticeOf(err); pc.notice != "" {
		return w.showConnection(pc, s.flowSession, s.c.ID)
	}
	if err != nil && !errors.Is(err, passerelle.Conflict) && !errors.Is(err, passerelle.Invalid) {
		return fmt.Errorf("set out for the institution of connection %d: %w", s.c.ID, err)
	}
	if s.c = c; err == nil && form.Has(ticketName) && c.State == passerelle.WebauthRequired && c.URL != "" {
		return w.redirectToBank(pc, s, s.body(pc, stateTexts[c.State].key))
	}
	if form.Has(ticketName) {
		return w.arrived(pc, err == nil && c.State == "")
	}
	web.Redirect(pc.writer, pc.to(s.flowSession, connectionStep, pc.request.URL.Query().Get(connectionStep), "step", stepOnward))
	return nil
}

// connectionActions has the functions of the forms about a connection. The key is the value of a
// form's field "step".
var connectionActions = map[string]func(*Webview, *pageContext, *flowConnection, url.Values) error{
	"fill":   (*Webview).fillIn,
	"again":  (*Webview).tryAgain,
	"resume": (*Webview).confirmed,
	"bank":   (*Webview).openBankPage,
	"share":  (*Webview).share,
}

// flowActions has the functions of all other forms of a flow, which need no connection that still
// exists. The key is the value of a form's field "step".
var flowActions = map[string]func(*Webview, *pageContext, *flowSession, url.Values) error{
	"code":   (*Webview).takeCode,
	"begin":  (*Webview).begin,
	"add":    (*Webview).add,
	"forget": (*Webview).deleteConnection,
}

// reply handles a submitted form. A page of the flow shows the result.
func (w *Webview) reply(pc *pageContext) error {
	if web.Forged(pc.request) {
		return errStrange
	}
	form, err := pc.form()
	if err != nil {
		return errUnread
	}
	t, err := w.sentBy(pc, form)
	switch {
	case err != nil:
		return w.refuseLink(pc, t, err)
	case !t.ownsForm(form):
		return errStrange
	}
	if undertake, known := flowActions[form.Get("step")]; known {
		return undertake(w, pc, t, form)
	}
	answer, known := connectionActions[form.Get("step")]
	id, err := t.about(pc)
	if !known || err != nil || id == 0 || t.User == 0 {
		return errUnread
	}
	s, err := w.loadConnection(pc, t, id)
	if err != nil {
		return err
	}
	return answer(w, pc, s, form)
}

// sentBy returns the flow of a form. The browser proves its access with the cookie. A separate
// window uses the ticket instead.
func (w *Webview) sentBy(pc *pageContext, form url.Values) (*flowSession, error) {
	if !form.Has(ticketName) {
		return w.findFlow(pc, pc.request.URL.Query().Get(handleParameter))
	}
	var held ticket
	if form.Get("step") != "bank" || !w.sealer.Open(ticketName, form.Get(ticketName), &held) {
		return nil, errUsed
	}
	t := &flowSession{flowState: held.Flow}
	t.handle = held.Handle
	return w.resumed(pc, t)
}
