package webview

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
	"passerelle/internal/webview/question"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// entryOf converts an institution to a list entry.
func (w *Webview) entryOf(b wire.Bank, address string) chooser.Institution {
	return chooser.Institution{
		UUID: b.UUID, Name: b.Name, Mark: w.markOf(b.UUID, b.Name), Countries: b.Countries, Address: address, Disturbed: b.Disturbed, Apart: b.Peculiar,
	}
}

// institutionsBody is the content of the page on which a person chooses an institution.
type institutionsBody struct {
	flowBody
	Chooser *chooser.List
	// None is set when there is no institution to choose from.
	None bool
	// Unknown is set while the flow has no user. The person's code may be in the fragment of the
	// address, and browsers do not send fragments.
	Unknown bool
}

// chooseInstitution shows the list of institutions, or the form of the chosen institution. When
// there is only one institution, it counts as chosen.
func (w *Webview) chooseInstitution(pc *pageContext, t *flowSession) error {
	all, err := w.offered(pc, t.Filter)
	if err != nil {
		return err
	}
	query := pc.request.URL.Query()
	chosen := slices.IndexFunc(all, func(b wire.Bank) bool { return b.UUID == query.Get(bankStep) })
	if len(all) == 1 {
		chosen = 0
	}
	if chosen >= 0 {
		return w.askCredentials(pc, t, all[chosen], len(all) > 1)
	}
	return w.listInstitutions(pc, t, all)
}

// listInstitutions shows the institutions, or the countries to choose from.
func (w *Webview) listInstitutions(pc *pageContext, t *flowSession, all []wire.Bank) error {
	favourites, err := w.favourites(pc)
	if err != nil {
		return err
	}
	list := make([]chooser.Institution, len(all))
	for i, b := range all {
		list[i] = w.entryOf(b, pc.to(t, bankStep, b.UUID))
	}
	if pc.step() == chooser.StepCountry {
		body := w.newCountries(pc, pc.flowFrame(t).at(stepsOfConnect, 1), list)
		return pages.Send(pc.writer, w.flowPage(pc, t, "countries", body.Title, body))
	}
	body := institutionsBody{
		flowBody: pc.body(t, "institutions"), Chooser: w.choosing(pc, favourites).List(list), None: len(all) == 0, Unknown: t.User == 0,
	}
	body.frame = body.at(stepsOfConnect, 1)
	body.Leave = pc.to(t, "step", stepLeave)
	page := w.flowPage(pc, t, "institutions", body.Title, body)
	if body.Unknown {
		page.Module = "handover.mjs" // a page without a module refuses all scripts
	}
	body.Chooser.Help(&page)
	return pages.Send(pc.writer, page)
}

// credentialsBody is the content of the page that asks for the credentials of an institution.
type credentialsBody struct {
	flowBody
	Institution chooser.Institution
	// Others lists the other ways to give access to the same institution.
	Others []otherWay
	// Unknown has the same meaning as in institutionsBody.
	Unknown bool
	// Promise says what the service can read and cannot do.
	Promise string
	// Once identifies this form, so that sending the form twice makes only one connection.
	Once string
}

// onceParameter is a hidden field of the form for credentials. Forms from processes of the previous
// version do not have it.
const onceParameter = "once"

// otherWay is a link to the form for another way to give access.
type otherWay struct{ Text, Address string }

// askCredentials shows the form for the credentials of an institution. If others is true, the page
// also offers to choose another institution.
func (w *Webview) askCredentials(pc *pageContext, t *flowSession, b wire.Bank, others bool) error {
	pc.nameInstitutionsLike(b)
	on := wayBy(b, pc.request.URL.Query().Get("by"))
	body := credentialsBody{flowBody: pc.body(t, on.key()), Institution: w.entryOf(b, ""), Unknown: t.User == 0, Once: randomText()}
	body.Title, body.Bank, body.frame = pc.words.Say("credentials.title", b.Name), b.Name, body.at(stepsOfConnect, 2)
	body.Action, body.Step, body.Button = pc.to(t, bankStep, b.UUID, "by", string(on.Mechanism)), "begin", pc.words.Say(on.key()+".button")
	body.Questions, body.Promise = t.Filter.entries(b, asked(b, on), pc.values, pc.problem), pc.words.Say(t.Filter.promise())
	for _, other := range waysOf(b) {
		if other != on {
			body.Others = append(body.Others, otherWay{pc.words.Say(other.key() + ".other"), pc.to(t, bankStep, b.UUID, "by", string(other.Mechanism))})
		}
	}
	if body.Leave = pc.to(t, "step", stepLeave); others {
		body.Back = pc.to(t)
	}
	page := w.flowPage(pc, t, "credentials", body.Title, body)
	if body.Unknown {
		page.Module = "handover.mjs"
	}
	return pages.Send(pc.writer, page)
}

func (w way) key() string { return "credentials." + string(w.Mechanism) }

// entries returns fields as form inputs. It fills the inputs with the values that the client put
// into the link. The person's own values, in the argument `supplied`, replace the client's values.
// entries does not show the client's secret values. The service adds them when the person submits
// the form.
func (f filter) entries(b wire.Bank, fields []payment.Field, supplied map[string]string, mistake problem) []question.Question {
	shown, held := map[string]string{}, f.Values[b.ID]
	fields = slices.Clone(fields)
	for i := range fields {
		value, filled := held[fields[i].Name]
		switch {
		case filled && fields[i].Type == question.Password:
			fields[i].Required = false
		case filled:
			shown[fields[i].Name] = value
		}
	}
	maps.Copy(shown, supplied)
	return question.All(fields, shown, mistake.wrong(fields))
}

// begin connects the person to the chosen institution.
func (w *Webview) begin(pc *pageContext, t *flowSession, form url.Values) error {
	all, err := w.offered(pc, t.Filter)
	if err != nil {
		return err
	}
	query := pc.request.URL.Query()
	i := slices.IndexFunc(all, func(b wire.Bank) bool { return b.UUID == query.Get(bankStep) })
	switch {
	case t.Flow != flowConnect:
		return errUnread
	case i < 0 || len(t.Made) >= t.Most:
		web.Redirect(pc.writer, pc.to(t))
		return nil
	}
	b, on := all[i], wayBy(all[i], query.Get("by"))
	pc.values = fieldValues(form, asked(b, on))
	values := map[string]string{}
	for _, f := range asked(b, on) {
		value := pc.values[f.Name]
		if !form.Has(question.Prefix+f.Name) || f.Type == question.Password { // the page shows no password of the client
			value = cmp.Or(value, t.Filter.Values[b.ID][f.Name])
		}
		if value != "" {
			values[f.Name] = value
		}
	}
	if err := w.settle(pc, t); err != nil {
		return err
	}
	r := aggregation.Request{
		Connector: b.UUID, Mechanism: on.Mechanism, Values: values, Landing: pc.landing(t), Background: on.Mechanism != passerelle.ByWebauth,
	}
	if form.Has(onceParameter) {
		r.Execution = pc.once(t, "connection "+form.Get(onceParameter))
	}
	return w.connect(pc, t, b, r)
}

// connect begins a connection in the background, or asks the institution for the address of its
// page. It then redirects the browser to the page for the connection's state.
func (w *Webview) connect(pc *pageContext, t *flowSession, b wire.Bank, r aggregation.Request) error {
	id, err := w.underWay(pc, t, b)
	if err != nil {
		return err
	}
	if id != 0 {
		web.Redirect(pc.writer, pc.toConnection(t, id))
		return nil
	}
	made, err := w.Aggregation.Connect(pc.context(), pc.domain, t.User, r)
	pc.problem, pc.notice = entryProblem(err), noticeOf(err)
	switch {
	case pc.problem.key != "" || pc.notice != "":
		return w.chooseInstitution(pc, t) // the address names the bank of the form
	case errors.Is(err, passerelle.NotFound):
		return w.refuseLink(pc, t, errEnded) // somebody has deleted the user
	case errors.Is(err, store.ErrRepeated):
		return w.showMade(pc, t, b, r)
	case err != nil:
		return fmt.Errorf("connect user %d: %w", t.User, err)
	}
	web.Redirect(pc.writer, pc.toConnection(t, made.ID))
	return nil
}

// underWay returns the person's connection to the institution while the first read of this
// connection is in progress. Otherwise it returns zero. Without this check, a person who goes back
// to a new form during the read would make a second connection.
func (w *Webview) underWay(pc *pageContext, t *flowSession, b wire.Bank) (passerelle.ConnectionID, error) {
	latest, err := bankstore.From(w.DB).Connections(pc.context(), pc.domain.ID, t.User, store.Window{Limit: 10, Descending: true})
	if err != nil {
		return 0, fmt.Errorf("list the connections of user %d: %w", t.User, err)
	}
	i := slices.IndexFunc(latest, func(c bankstore.Connection) bool {
		return c.Connector == b.UUID && c.State == passerelle.Validating && c.Established == nil && c.Locked
	})
	if i < 0 {
		return 0, nil
	}
	return latest[i].ID, nil
}

// toConnection returns the address of the page for a connection's state.
func (pc *pageContext) toConnection(t *flowSession, id passerelle.ConnectionID) string {
	return pc.to(t, connectionStep, connectionText(id), "step", stepOnward)
}

// showMade continues with the connection that an earlier request made with the same form. While the
// first read of this connection has not succeeded, other values in the form, such as a corrected
// password, go to the connection. Later, other values mean another connection. The browser then
// gets a new form, as it does when the connection was deleted.
func (w *Webview) showMade(pc *pageContext, t *flowSession, b wire.Bank, r aggregation.Request) error {
	id, err := madeFor[passerelle.ConnectionID](w, pc, r.Execution)
	if err != nil {
		return err
	}
	s, err := w.loadConnection(pc, t, id)
	other := false
	if err == nil {
		other, err = w.entersOther(pc, s, r.Values)
	}
	gone := errors.Is(err, passerelle.NotFound)
	switch {
	case gone || other && s.c.Established != nil:
		web.Redirect(pc.writer, pc.to(t, bankStep, b.UUID, "by", string(r.Mechanism)))
	case err != nil:
		return err
	case other:
		return w.resumeConnection(pc, s, aggregation.Request{Values: r.Values})
	default:
		web.Redirect(pc.writer, pc.toConnection(t, id))
	}
	return nil
}

// entersOther reports whether the person has entered some of the values, and the connection has
// others or damaged ones. It ignores values that the client has put into the link.
func (w *Webview) entersOther(pc *pageContext, s *flowConnection, values map[string]string) (bool, error) {
	stored, _, err := bankstore.From(w.DB).ConnectionSecrets(pc.context(), pc.domain.ID, s.c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, passerelle.Missing()
	}
	if err != nil && !bankstore.Damaged(err) {
		return false, fmt.Errorf("read the values of connection %d: %w", s.c.ID, err)
	}
	for name, value := range values {
		if pc.values[name] == value && stored[name] != value {
			return true, nil
		}
	}
	return false, nil
}
