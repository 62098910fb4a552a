package aggregation

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Webauth is a client's request to send a person to a page of an institution.
type Webauth struct {
	// Connector is the UUID or the number of the connector of a new connection. It is empty when
	// Connection names an existing connection.
	Connector  string
	Connection passerelle.ConnectionID
	// Source is the name of a source of the connector. An empty name means the first source with
	// the mechanism webauth. Values are values of the source's fields.
	Source  string
	Values  map[string]string
	Landing Landing
	// Seen is the same as in Request. It keeps a repetition from asking the institution again.
	Seen *int64
}

// Landing is the address to which a user is redirected after an institution's page: a registered
// address of the client, with the client's state.
type Landing struct{ RedirectURI, State string }

// maxState is the greatest length of the client's state parameter, in characters.
const maxState = 2000

// Check fails with Invalid when the request does not name exactly one connector or connection, or
// when the state is too long.
func (w Webauth) Check() error {
	switch {
	case w.Connector == "" && w.Connection == 0:
		return passerelle.MissingField("connector_uuid", "is required, or id_connection to continue with an existing connection")
	case w.Connector != "" && w.Connection != 0:
		return passerelle.InvalidField("id_connection", "is for an existing connection, and connector_uuid for a new one; give only one of them")
	}
	return passerelle.CheckText("state", w.Landing.State, maxState)
}

// CheckWebauth checks that a request leads to a page of an institution. It fails with Conflict for
// a connection that needs no page, or is validating and locked. For other mistakes, it fails with
// Invalid or NotFound.
func (a *Aggregation) CheckWebauth(ctx context.Context, d passerelle.Domain, user passerelle.UserID, w Webauth) error {
	if w.Connection == 0 {
		_, _, err := a.open(ctx, d, user, w.request())
		return err
	}
	c, err := a.Connection(ctx, d, user, w.Connection)
	if err != nil {
		return err
	}
	if now := a.now(d); c.State == "" && (c.ConsentUntil == nil || now.Before(*c.ConsentUntil)) {
		return &passerelle.Error{Kind: passerelle.Conflict, Code: "invalidValue", Message: "id_connection: the connection is up to date; there is nothing to do at the institution"}
	}
	sources, err := bankstore.From(a.DB).SourcesOf(ctx, d.ID, c.ID)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", c.ID, err)
	}
	reader, known := a.Connectors.DataReader(c.Connector)
	if !known || len(sources) == 0 || !hasPage(reader.Profile(), sources[0].Name) {
		return passerelle.InvalidField("id_connection", "the connection does not use a source with the mechanism webauth")
	}
	if c.State == passerelle.Validating && c.Locked { // a crash leaves the state, but no lock
		return locked()
	}
	return nil
}

func (w Webauth) request() Request {
	return Request{Connector: w.Connector, Source: w.Source, Mechanism: passerelle.ByWebauth, Values: w.Values, Landing: w.Landing, Seen: w.Seen}
}

// hasPage reports whether users authorise reads from a source on a page of the institution.
func hasPage(p connector.Profile, source string) bool {
	return slices.ContainsFunc(p.Sources, func(s connector.Source) bool {
		return s.Name == source && slices.Contains(s.Mechanisms, passerelle.ByWebauth)
	})
}

// Asked returns the supplied values that may appear in the browser's address on the way to an
// institution's page. It leaves out passwords, and fields of other mechanisms.
func (a *Aggregation) Asked(w Webauth) map[string]string {
	kept := map[string]string{}
	reader, known := a.Connectors.DataReader(w.Connector)
	if !known {
		return kept
	}
	for _, f := range reader.Profile().Data.Fields {
		if value, supplied := w.Values[f.Name]; supplied && f.Type != "password" && (len(f.Mechanisms) == 0 || slices.Contains(f.Mechanisms, passerelle.ByWebauth)) {
			kept[f.Name] = value
		}
	}
	return kept
}

// BeginWebauth creates or continues a connection. It returns the connection and the address for the
// browser. The address is that of the institution's page when the user must go there, and otherwise
// the landing. BeginWebauth fails with the errors of CheckWebauth, Connect and Resume.
func (a *Aggregation) BeginWebauth(ctx context.Context, d passerelle.Domain, user passerelle.UserID, w Webauth) (bankstore.Connection, string, error) {
	if err := a.CheckWebauth(ctx, d, user, w); err != nil {
		return bankstore.Connection{}, "", err
	}
	begin := func() (bankstore.Connection, error) { return a.Connect(ctx, d, user, w.request()) }
	if w.Connection != 0 {
		begin = func() (bankstore.Connection, error) { return a.Resume(ctx, d, user, w.Connection, w.request()) }
	}
	c, err := begin()
	if err != nil || c.State == passerelle.WebauthRequired && c.URL != "" {
		return c, c.URL, err
	}
	return c, w.Landing.arrival(c, nil), nil
}

// Arrival is the result of a user's return from an institution.
type Arrival struct {
	// URL is the address to which the user is redirected. It is empty without a landing.
	URL   string
	State passerelle.ConnectionState
}

// IsReturn reports whether a state parameter belongs to a connection and not to a payment.
func IsReturn(state string) bool { return strings.Contains(state, ".") }

// Return handles the return of a user from an institution. The state identifies the connection, and
// can be used once. The argument callback is the query that the institution added. Return reads the
// connection, and returns the client's landing with the result. It fails with NotFound when the
// state was already used or altered, or when the connection is deleted or does not wait for a user.
// It fails with Conflict while the connection is being read, and with Unavailable when too many
// requests wait for the institution. The state can then still be used.
//
// The argument left is a function. It reports whether the user's browser was sent to the
// institution of a connection. If the connection has a landing, left must return true. Otherwise an
// attacker could send another person to the institution, and get that person's accounts (RFC 6749,
// section 10.12). For another browser, Return fails with Forbidden, and the state can still be
// used.
func (a *Aggregation) Return(ctx context.Context, d passerelle.Domain, state string, callback url.Values, left func(passerelle.ConnectionID) bool) (Arrival, error) {
	id, nonce, ok := bankstore.ParseReturn(state)
	if !ok {
		return Arrival{}, passerelle.Missing()
	}
	back, err := bankstore.From(a.DB).ConnectionReturn(ctx, d.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return Arrival{}, passerelle.Missing()
	}
	if err != nil {
		return Arrival{}, fmt.Errorf("load the way back to connection %d: %w", id, err)
	}
	if subtle.ConstantTimeCompare(back.Nonce, nonce) == 0 {
		return Arrival{}, passerelle.Missing() // before the lease is taken, so that guesses do not lock the connection
	}
	if back.RedirectURI != "" && !left(id) {
		return Arrival{}, passerelle.Forbidden
	}
	run, reader, err := a.takeLease(ctx, d, back.User, id)
	if err != nil {
		return Arrival{}, err
	}
	run.attended = true
	leave, err := a.enterBank(run, Request{})
	if err != nil {
		return Arrival{}, errors.Join(err, run.lease.release(ctx))
	}
	defer leave()
	err = run.lease.write(ctx, func(tx *store.Tx) error { bankstore.In(tx).SpendReturn(d.ID, id, nonce); return nil })
	if errors.Is(err, store.ErrNotFound) {
		err = passerelle.Missing()
	}
	if err != nil {
		return Arrival{}, errors.Join(err, run.lease.release(ctx))
	}
	landing := Landing{back.RedirectURI, back.State}
	err = a.readOn(ctx, run, reader, readRequest{attended: true, callback: callback, landing: landing})
	return Arrival{URL: landing.arrival(run.lease.c, callback), State: run.lease.c.State}, err
}

// accessDenied is the error code of RFC 6749, section 4.1.2.1. The service passes it on from the
// institution to clients.
const accessDenied = "access_denied"

// arrival returns the landing with the result for the connection. Without a landing, it returns "".
// A state that the client resolves with the user is not an error.
func (l Landing) arrival(c bankstore.Connection, callback url.Values) string {
	if l.RedirectURI == "" {
		return ""
	}
	reported := url.Values{"id_connection": {strconv.FormatInt(int64(c.ID), 10)}}
	switch c.State {
	case "", passerelle.AdditionalInformationNeeded, passerelle.Decoupled, passerelle.SCARequired, passerelle.Validating:
	default:
		code := string(c.State)
		if callback.Get("error") == accessDenied {
			code = accessDenied
		}
		reported.Set("error", code)
		reported.Set("error_description", cmp.Or(c.Message, "The connection is in the state "+string(c.State)+"."))
	}
	return l.with(reported)
}

// Refused returns the landing with an error, for a user whose request failed before the
// institution's page opened.
func (l Landing) Refused(code, description string) string {
	return l.with(url.Values{"error": {code}, "error_description": {description}})
}

func (l Landing) with(reported url.Values) string {
	if l.State != "" {
		reported.Set("state", l.State)
	}
	return l.RedirectURI + "?" + reported.Encode()
}

// prepareReturn returns the address to which the institution sends the user's browser. It returns
// "" when the source has no page. An earlier return address stays valid. Its landing also stays,
// unless the request has a new landing.
func (run *syncRun) prepareReturn(ctx context.Context, l Landing) (string, error) {
	if !hasPage(run.profile, run.lease.source.Name) {
		return "", nil
	}
	back, err := bankstore.From(run.lease.db).ConnectionReturn(ctx, run.lease.domain.ID, run.lease.c.ID)
	if errors.Is(err, store.ErrNotFound) {
		back, err = bankstore.NewReturn(run.lease.user.ID), nil
	}
	if err != nil {
		return "", fmt.Errorf("load the way back to connection %d: %w", run.lease.c.ID, err)
	}
	if l.RedirectURI != "" {
		back.RedirectURI, back.State = l.RedirectURI, l.State
	}
	run.back = back
	return run.lease.domain.BaseURL + "/webauth/callback?" + url.Values{"state": {bankstore.FormatReturn(run.lease.c.ID, back.Nonce)}}.Encode(), nil
}

// repeats reports whether the page of the institution already leads back to the landing of a
// request, because of a read that the user has not seen.
func (run *syncRun) repeats(ctx context.Context, r Request) (bool, error) {
	if r.Seen == nil || *r.Seen == run.lease.c.Sync {
		return false, nil
	}
	_, err := run.prepareReturn(ctx, Landing{})
	return err == nil && r.Landing == (Landing{run.back.RedirectURI, run.back.State}), err
}

// storeReturn stores the return address when the user must go to the institution. Otherwise a run
// with the user removes the address. A run without the user keeps the address, because the user may
// still come back.
func (run *syncRun) storeReturn(tx *store.Tx) {
	if run.lease.c.State == passerelle.WebauthRequired && run.back.Nonce != nil {
		bankstore.In(tx).ExpectReturn(run.lease.domain.ID, run.lease.c.ID, run.back)
	} else if run.attended {
		bankstore.In(tx).EndReturn(run.lease.domain.ID, run.lease.c.ID)
	}
}
