package webview

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/web"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// institution is one that a person can choose.
type institution struct {
	Name, Initial string
	// Place is the country, for one that is in a single one.
	Place string
	// Address is where choosing it leads.
	Address string
	// Disturbed is one that has failed several times in a row.
	Disturbed bool
}

func (pc *pageContext) institution(b wire.Bank, address string) institution {
	i := institution{Name: b.Name, Initial: initial(b.Name), Address: address, Disturbed: b.Disturbed}
	if len(b.Countries) == 1 {
		i.Place = pc.countryName(b.Countries[0])
	}
	return i
}

// institutionsBody is what the page shows on which an institution is chosen.
type institutionsBody struct {
	flowBody
	Institutions []institution
	// Search is set when the list is too long to be read, and Long when it is too
	// long for one page: then the service searches it for what was Wanted.
	Search, Long bool
	Wanted       string
	span
	// Countries are the countries to choose from, and Country the chosen one, in a form that
	// goes to Here, with Handle.
	Countries             []country
	Country, Here, Handle string
	// Unknown is set while nobody has come with a code, which may be in the part
	// of the address that browsers keep to themselves.
	Unknown bool
}

// chooseInstitution shows the institutions to choose from, or what the chosen one
// asks for. One that is alone is chosen.
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
	body := institutionsBody{
		flowBody: pc.body(t, "institutions"), Countries: choicesOfCountry(pc, all), Country: query.Get("country"), Unknown: t.User == 0,
		Here: pc.flowAddress(cmp.Or(pc.lang, pc.words.Lang)), Handle: t.handle,
	}
	body.Leave = pc.to(t, "step", stepLeave)
	body.Long, body.Wanted = len(all) > mostShown, query.Get("search")
	found := slices.DeleteFunc(all, func(b wire.Bank) bool { return !body.wants(b) })
	body.span = pc.span(len(found))
	for _, b := range found[body.first:body.end] {
		body.Institutions = append(body.Institutions, pc.institution(b, pc.to(t, bankStep, b.UUID)))
	}
	body.Search = !body.Long && len(body.Institutions) >= manyBanks
	page := w.flowPage(pc, t, "institutions", body.Title, body)
	page.Module = "filter.mjs"
	return pages.Send(pc.writer, page)
}

// wants reports whether an institution is among those that the person looks for.
func (b *institutionsBody) wants(one wire.Bank) bool {
	there := b.Country == "" || slices.Contains(one.Countries, b.Country)
	return there && (!b.Long || strings.Contains(folded(one.Name), folded(b.Wanted)))
}

// choicesOfCountry are the countries of a list that is too long to be read, by
// their names, when there is more than one to choose.
func choicesOfCountry(pc *pageContext, all []wire.Bank) []country {
	if len(all) < manyBanks {
		return nil
	}
	list := make([]bank, len(all))
	for i, b := range all {
		list[i].Countries = b.Countries
	}
	if choices := countriesOf(pc, list); len(choices) > 1 {
		return choices
	}
	return nil
}

// credentialsBody is the content of the page that asks for the credentials of an
// institution.
type credentialsBody struct {
	flowBody
	Institution institution
	// Others are the ways to the same institution besides this one.
	Others []otherWay
	// Unknown is as on the page with all institutions.
	Unknown bool
}

// otherWay leads to the form of another way.
type otherWay struct{ Text, Address string }

// askCredentials shows what an institution asks of who wants it to be read; others
// says that another one can be chosen.
func (w *Webview) askCredentials(pc *pageContext, t *flowSession, b wire.Bank, others bool) error {
	on := wayBy(b, pc.request.URL.Query().Get("by"))
	body := credentialsBody{flowBody: pc.body(t, on.key()), Institution: pc.institution(b, ""), Unknown: t.User == 0}
	body.Title, body.Bank = pc.words.Say("credentials.title", b.Name), b.Name
	body.Action, body.Step, body.Button = pc.to(t, bankStep, b.UUID, "by", string(on.Mechanism)), "begin", pc.words.Say(on.key()+".button")
	body.Questions = t.Filter.entries(b, asked(b, on), pc.values, pc.problem.field)
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

// entries are fields as a person fills them in, with what the client filled in
// before. Its secrets are kept back: they are added when the form comes.
func (f filter) entries(b wire.Bank, fields []payment.Field, supplied map[string]string, wrong string) []question {
	shown, held := map[string]string{}, f.Values[b.ID]
	fields = slices.Clone(fields)
	for i := range fields {
		value, filled := held[fields[i].Name]
		switch {
		case filled && fields[i].Type == passwordType:
			fields[i].Required = false
		case filled:
			shown[fields[i].Name] = value
		}
	}
	maps.Copy(shown, supplied)
	return questions(fields, shown, wrong)
}

// begin makes a connection to the institution of the form.
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
	pc.values = fieldValues(form)
	values := map[string]string{}
	for _, f := range asked(b, on) {
		if value := cmp.Or(pc.values[f.Name], t.Filter.Values[b.ID][f.Name]); value != "" {
			values[f.Name] = value
		}
	}
	if err := w.settle(pc, t); err != nil {
		return err
	}
	return w.connect(pc, t, b, on, values)
}

// connect begins a connection in the background, or asks the institution at once
// for its page, and sends the browser to where the connection stands.
func (w *Webview) connect(pc *pageContext, t *flowSession, b wire.Bank, on way, values map[string]string) error {
	id, err := w.underWay(pc, t, b)
	if err != nil {
		return err
	}
	if id == 0 {
		made, err := w.Aggregation.Connect(pc.context(), pc.domain, t.User, aggregation.Request{
			Connector: b.UUID, Mechanism: on.Mechanism, Values: values, Landing: pc.landing(t), Background: on.Mechanism != passerelle.ByWebauth,
		})
		pc.problem, pc.notice = entryProblem(err), noticeOf(err)
		switch {
		case pc.problem.key != "" || pc.notice != "":
			return w.askCredentials(pc, t, b, true)
		case errors.Is(err, passerelle.NotFound):
			return w.refuseLink(pc, t, errOver) // the user is gone
		case err != nil:
			return fmt.Errorf("connect user %d: %w", t.User, err)
		}
		id = made.ID
	}
	web.Redirect(pc.writer, pc.to(t, connectionStep, strconv.FormatInt(int64(id), 10), "step", stepOnward))
	return nil
}
