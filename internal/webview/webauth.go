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

// The parameters with which a browser sets out; all others are values of the
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

// webauth sends a person to the page of their institution, for a new connection
// or for one that waits for them. Whoever is not told by a client that may send
// people back gets a page; everything else is told to the client.
func (w *Webview) webauth(v *visit) error {
	if v.request.Method != http.MethodGet {
		return errMethod
	}
	query := v.request.URL.Query()
	client, err := w.sender(v, query)
	if err != nil {
		return err
	}
	wish, err := newWish(query)
	if err != nil {
		return w.sendBack(v, wish, err)
	}
	code, err := w.Access.Redeem(v.context(), client, query.Get(tokenParameter))
	if errors.Is(err, passerelle.Unauthenticated) || err == nil && code.Kind != string(access.CodeToken) {
		return errUsed
	}
	if err != nil {
		return fmt.Errorf("check the code of a person: %w", err)
	}
	if err := w.Aggregation.CheckWebauth(v.context(), v.domain, code.User, wish); err != nil {
		return w.sendBack(v, wish, err)
	}
	if err := w.Access.Use(v.context(), code); err != nil {
		return errUsed
	}
	address, err := w.Aggregation.BeginWebauth(v.context(), v.domain, code.User, wish)
	if err != nil {
		return w.sendBack(v, wish, err)
	}
	web.Forward(v.writer, address)
	return nil
}

// sender is the client that sent the person, provided that it may receive people
// where it wants them in the end.
func (w *Webview) sender(v *visit, query url.Values) (store.Client, error) {
	id, err := strconv.ParseInt(query.Get(clientParameter), 10, 64)
	if err != nil {
		return store.Client{}, errSender
	}
	client, err := w.DB.Client(v.context(), v.domain.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		return client, errSender
	}
	if err != nil {
		return client, fmt.Errorf("load client %d: %w", id, err)
	}
	if !w.acceptable(v, access.Principal{Client: client.ID}, query.Get(redirectParameter)) {
		return client, errSender
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

// sendBack tells the client what it did wrong, or what is the matter with the
// connection. Faults of our own are shown.
func (w *Webview) sendBack(v *visit, wish aggregation.Webauth, err error) error {
	var told *passerelle.Error
	if !errors.As(err, &told) {
		return err
	}
	web.Forward(v.writer, wish.Refused(told.Code, told.Message))
	return nil
}

// returned receives a person from the page of their institution. Where no client
// waits for them, a page says what came of it.
func (w *Webview) returned(v *visit, state string) error {
	if v.request.Method != http.MethodGet {
		return errMethod
	}
	if len(v.request.URL.RawQuery) > maxReturn {
		return errTooLong
	}
	callback := v.request.URL.Query()
	callback.Del(stateParameter)
	arrival, err := w.Aggregation.Return(v.context(), v.domain, state, callback)
	switch {
	case errors.Is(err, passerelle.NotFound):
		return errUsed
	case errors.Is(err, passerelle.Conflict):
		return errBusy
	case err != nil:
		return fmt.Errorf("receive a person from an institution: %w", err)
	case arrival.URL != "":
		web.Forward(v.writer, arrival.URL)
		return nil
	}
	name := "arrived"
	if arrival.State != "" {
		name = "unarrived"
	}
	title := v.words.Say(name + ".title")
	return pages.Send(v.writer, web.Page{
		Name: "arrived", Words: v.words, Title: title, Body: faultBody{Title: title, Text: v.words.Say(name + ".text")},
	})
}
