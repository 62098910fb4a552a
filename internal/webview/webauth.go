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

// WebauthPath is the path that a browser opens to be redirected to an institution's page.
const WebauthPath = "/2.0/webauth"

// maxReturn limits the bytes that an institution may send when a person comes back from the
// institution.
const maxReturn = 8 << 10

// These are the parameters of the address that a browser opens first. All other parameters are
// values of the connector's fields.
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

// webauth redirects a person to their institution's page, for a new connection or for a connection
// that waits for the person. When this fails, webauth redirects the person to the client with the
// error. It shows a page instead if the client may not receive the person, if the code is not
// valid, or after an internal error.
func (w *Webview) webauth(pc *pageContext) error {
	if pc.request.Method != http.MethodGet {
		return errMethod
	}
	if w.toConfiguredHost(pc) {
		return nil
	}
	query := pc.request.URL.Query()
	client, err := w.clientOf(pc, query)
	if err != nil {
		return err
	}
	// The check of the code comes before any redirect. Otherwise a stranger could redirect people
	// anywhere through an application without registered addresses.
	code, err := w.redeem(pc, client, query.Get(tokenParameter))
	if err != nil {
		return err
	}
	wish, err := w.newWish(query)
	if err != nil {
		return w.sendBack(pc, wish, err)
	}
	if err := w.Aggregation.CheckWebauth(pc.context(), pc.domain, code.User, wish); err != nil {
		return w.sendBack(pc, wish, err)
	}
	if err := w.use(pc, code); err != nil {
		return err
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

// redeem returns the token of a person's code.
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

// departure returns the name of the cookie in a browser that was redirected to a connection's
// institution. The name contains the id of the connection. The encrypted value is valid only under
// this name.
func departure(id passerelle.ConnectionID) string {
	return "departure_" + strconv.FormatInt(int64(id), 10)
}

func (pc *pageContext) departureCookie(id passerelle.ConnectionID) web.Cookie {
	return web.Cookie{Name: departure(id), Path: WebauthPath, Secure: pc.secure(), Life: sessionLife}
}

// markDeparture sets a cookie in the browser that is redirected. When the person comes back, the
// service accepts only the browser with this cookie.
func (w *Webview) markDeparture(pc *pageContext, id passerelle.ConnectionID) error {
	return w.sealer.Set(pc.writer, pc.departureCookie(id), true)
}

// departed reports whether this browser was redirected to a connection's institution.
func (w *Webview) departed(pc *pageContext, id passerelle.ConnectionID) bool {
	var did bool
	return w.sealer.Read(pc.request, departure(id), &did) == nil && did
}

// clientOf returns the client that sent the person. It fails when the client may not receive people
// at the requested address.
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

// namedClient returns the client that the address names. It loads the client once for a request.
func (w *Webview) namedClient(pc *pageContext, query url.Values) (store.Client, error) {
	id, err := strconv.ParseInt(query.Get(clientParameter), 10, 64)
	if err != nil {
		return store.Client{}, &explained{errSender, "client_id: must be the number of an application"}
	}
	if pc.client != nil && pc.client.ID == passerelle.ClientID(id) {
		return *pc.client, nil
	}
	client, err := w.DB.Client(pc.context(), pc.domain.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		return client, &explained{errSender, fmt.Sprintf("client_id: there is no application %d", id)}
	}
	if err != nil {
		return client, fmt.Errorf("load client %d: %w", id, err)
	}
	pc.client = &client
	return client, nil
}

// newWish reads the parameters of the client.
func (w *Webview) newWish(query url.Values) (aggregation.Webauth, error) {
	wish := aggregation.Webauth{
		Connector: query.Get(uuidParameter), Source: query.Get(sourceParameter), Values: map[string]string{},
		Landing: aggregation.Landing{RedirectURI: query.Get(redirectParameter), State: query.Get(stateParameter)},
	}
	agreed, err := w.Aggregation.Connectors.Agreed(passerelle.NamedConnector{Field: uuidParameter, Name: wish.Connector}, passerelle.NamedConnector{Field: connectorParameter, Name: query.Get(connectorParameter)})
	if err != nil {
		return wish, err
	}
	wish.Connector = agreed.Name
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

// sendBack redirects to the client with the mistake in the client's request, or with the problem of
// the connection. It shows an internal error on a page.
func (w *Webview) sendBack(pc *pageContext, wish aggregation.Webauth, err error) error {
	var reported *passerelle.Error
	if !errors.As(err, &reported) {
		return err
	}
	web.Forward(pc.writer, wish.Landing.Refused(reported.Code, reported.Message))
	return nil
}

// returned handles a person who comes back from their institution's page. When no client waits for
// the person, a page shows the result.
func (w *Webview) returned(pc *pageContext, state string) error {
	if pc.request.Method != http.MethodGet {
		return errMethod
	}
	if len(pc.request.URL.RawQuery) > maxReturn {
		return errCrammed
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

// arrived sends the last page that the person sees in the window. The page says whether the service
// can read the institution now.
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
