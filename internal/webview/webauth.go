package webview

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// WebauthPath is where a browser sets out for the page of an institution.
const WebauthPath = "/2.0/webauth"

// maxReturn is how many bytes an institution may send along with a person.
const maxReturn = 8 << 10

// The parameters of the address with which a browser begins. All others are values of the
// connector's fields.
const (
	tokenParameter      = "token"
	clientParameter     = "client_id"
	redirectParameter   = "redirect_uri"
	stateParameter      = "state"
	sourceParameter     = "source"
	uuidParameter       = "connector_uuid"
	connectorParameter  = "id_connector"
	connectionParameter = "id_connection"
)

// webauth sends a person to the page of their institution, for a new connection or for one that
// waits for them. It shows a page when the client may not receive the person, and otherwise
// informs the client.
func (w *Webview) webauth(pc *pageContext) error {
	if pc.request.Method != http.MethodGet {
		return errMethod
	}
	if w.returnToClient(pc) {
		return nil
	}
	query := pc.request.URL.Query()
	client, err := w.clientOf(pc, query)
	if err != nil {
		return err
	}
	// Nobody is redirected before their code is checked. An application without registered
	// addresses would otherwise let a stranger redirect people anywhere.
	code, err := w.redeem(pc, client, query.Get(tokenParameter))
	if err != nil {
		return err
	}
	wish, err := newWish(query)
	if err != nil {
		return w.sendBack(pc, wish, err)
	}
	if err := w.Aggregation.CheckWebauth(pc.context(), pc.domain, code.User, wish); err != nil {
		return w.sendBack(pc, wish, err)
	}
	if err := w.Access.Use(pc.context(), code); err != nil {
		return errUsed
	}
	c, address, err := w.Aggregation.BeginWebauth(pc.context(), pc.domain, code.User, wish)
	if err != nil {
		return w.sendBack(pc, wish, err)
	}
	if err := w.markDeparture(pc, c.ID); err != nil {
		return err
	}
	web.Forward(pc.writer, address)
	return nil
}

// redeem finds what a code that came with a person stands for.
func (w *Webview) redeem(pc *pageContext, client store.Client, text string) (store.Token, error) {
	code, err := w.Access.Redeem(pc.context(), client, text)
	if errors.Is(err, passerelle.Unauthenticated) || err == nil && code.Kind != string(access.CodeToken) {
		return code, errUsed
	}
	if err != nil {
		return code, fmt.Errorf("check the code of a person: %w", err)
	}
	return code, nil
}

// departure is the cookie of a browser that set out for a connection's institution. It contains
// only its name, under which it is sealed.
func departure(id passerelle.ConnectionID) string {
	return "departure_" + strconv.FormatInt(int64(id), 10)
}

func (pc *pageContext) departureCookie(id passerelle.ConnectionID) web.Cookie {
	return web.Cookie{Name: departure(id), Path: WebauthPath, Secure: pc.secure(), Life: sessionLife}
}

// markDeparture sets the cookie that marks this browser as the one that left. Only it is
// received when the person comes back.
func (w *Webview) markDeparture(pc *pageContext, id passerelle.ConnectionID) error {
	return w.sealer.Set(pc.writer, pc.departureCookie(id), true)
}

// departed reports whether the browser set out for a connection's institution.
func (w *Webview) departed(pc *pageContext, id passerelle.ConnectionID) bool {
	var did bool
	return w.sealer.Read(pc.request, departure(id), &did) == nil && did
}

// clientOf is the client that sent the person, provided that it may receive people
// where it wants them in the end.
func (w *Webview) clientOf(pc *pageContext, query url.Values) (store.Client, error) {
	client, err := w.namedClient(pc, query)
	if err != nil {
		return client, err
	}
	if !w.acceptable(pc, access.Principal{Client: client.ID}, query.Get(redirectParameter)) {
		return client, errSender
	}
	return client, nil
}

// namedClient is the client that an address names.
func (w *Webview) namedClient(pc *pageContext, query url.Values) (store.Client, error) {
	id, err := strconv.ParseInt(query.Get(clientParameter), 10, 64)
	if err != nil {
		return store.Client{}, &explained{errSender, "client_id: must be the number of an application"}
	}
	client, err := w.DB.Client(pc.context(), pc.domain.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		return client, &explained{errSender, fmt.Sprintf("client_id: there is no application %d", id)}
	}
	if err != nil {
		return client, fmt.Errorf("load client %d: %w", id, err)
	}
	return client, nil
}

// newWish reads what the client asks for.
func newWish(query url.Values) (aggregation.Webauth, error) {
	wish := aggregation.Webauth{
		Connector: query.Get(uuidParameter), Source: query.Get(sourceParameter), Values: map[string]string{},
		Landing: aggregation.Landing{RedirectURI: query.Get(redirectParameter), State: query.Get(stateParameter)},
	}
	if wish.Connector == "" {
		wish.Connector = query.Get(connectorParameter)
	}
	if number := query.Get(connectionParameter); number != "" {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 {
			return wish, passerelle.Missing()
		}
		wish.Connection = passerelle.ConnectionID(id)
	}
	named := []string{tokenParameter, clientParameter, redirectParameter, stateParameter, sourceParameter, uuidParameter, connectorParameter, connectionParameter}
	for name := range maps.Keys(query) {
		if !slices.Contains(named, name) {
			wish.Values[name] = query.Get(name)
		}
	}
	return wish, wish.Check()
}

// sendBack tells the client what was wrong with its request, or the problem of the connection.
// Faults of our own are shown.
func (w *Webview) sendBack(pc *pageContext, wish aggregation.Webauth, err error) error {
	var reported *passerelle.Error
	if !errors.As(err, &reported) {
		return err
	}
	web.Forward(pc.writer, wish.Refused(reported.Code, reported.Message))
	return nil
}

// returned receives a person from the page of their institution. When no client waits for them, a
// page shows the result.
func (w *Webview) returned(pc *pageContext, state string) error {
	if pc.request.Method != http.MethodGet {
		return errMethod
	}
	if len(pc.request.URL.RawQuery) > maxReturn {
		return errTooLong
	}
	callback := pc.request.URL.Query()
	callback.Del(stateParameter)
	var from passerelle.ConnectionID
	arrival, err := w.Aggregation.Return(pc.context(), pc.domain, state, callback, func(id passerelle.ConnectionID) bool {
		from = id
		return w.departed(pc, id)
	})
	if err == nil {
		pc.departureCookie(from).Forget(pc.writer)
	}
	switch {
	case errors.Is(err, passerelle.NotFound):
		return errUsed
	case errors.Is(err, passerelle.Forbidden):
		return errElsewhere
	case errors.Is(err, passerelle.Conflict):
		return errBusy
	case err != nil:
		return fmt.Errorf("receive a person from an institution: %w", err)
	case arrival.URL != "":
		web.Forward(pc.writer, arrival.URL)
		return nil
	}
	return w.arrived(pc, arrival.State == "")
}

// arrived tells a person without a waiting page, in the window they came to, whether the
// institution can be read now.
func (w *Webview) arrived(pc *pageContext, well bool) error {
	name := "arrived"
	if !well {
		name = "unarrived"
	}
	title := pc.words.Say(name + ".title")
	return pages.Send(pc.writer, web.Page{
		Name: "arrived", Words: pc.words, Title: title, Sheets: sheets, Body: faultBody{Title: title, Text: pc.words.Say(name + ".text")},
	})
}
