package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// Caller describes who calls and how. It contains everything about a request that an endpoint may
// use, except the endpoint's input.
type Caller struct {
	// Principal is zero for a call that needs no token. The field Domain of Caller hides the Domain
	// of Principal, which is only an id.
	access.Principal
	// Domain is the domain that the host of the request names.
	Domain passerelle.Domain
	// Settings holds the domain's settings at the time of the request.
	Settings settings.Values
	// Base is the root of the address that the client called, without a trailing slash:
	// "http://127.0.0.1:8080/2.0". Links to resources of the API begin with Base.
	Base string
	// Now is the current time on the domain's clock.
	Now time.Time
	// Location is the time zone of the dates that the domain reads and writes.
	Location *time.Location
	// Strict is set when the request has "Prefer: handling=strict". Unknown names are then errors.
	Strict bool
	// unread lists the members of the body that the input's field "*" could not receive.
	unread []node
	// Execution belongs to the request's idempotency key. An endpoint that creates objects usually
	// names them in Route.Creates. If it does not, it must pass Execution to store.Tx.Executed or
	// store.Tx.Responded, in the transaction that creates the object. Made is the id of an object
	// that an earlier execution with this key has created, or zero. When Made is not zero, the
	// endpoint shows that object and creates nothing.
	Execution store.Execution
	Made      int64
	// render converts the endpoint's output to a response. The method KeepResponse stores a
	// response in kept. If kept is set, the API sends kept.
	render func(out any) (response, error)
	kept   *response
	// Request identifies the request in logs and error bodies.
	Request string
	// Address is the caller's IP address. Behind trusted proxies, it is the address that they
	// report.
	Address string
}

// KeepResponse renders an output for store.Tx.Responded. The transaction that creates an object can
// then also store the response for repetitions.
func (c *Caller) KeepResponse(out any) ([]byte, error) {
	result, err := c.render(out)
	if err != nil {
		return nil, err
	}
	c.kept = &result
	return result.keep()
}

// MadeIDs returns the ids of count objects that an earlier execution has created. The ids are
// consecutive, and the first one is c.Made. MadeIDs returns nil when c.Made is zero.
func MadeIDs[ID ~int64](c *Caller, count int) []ID {
	if c.Made == 0 {
		return nil
	}
	ids := make([]ID, count)
	for i := range ids {
		ids[i] = ID(c.Made + int64(i))
	}
	return ids
}

// By returns the text that names the caller in records of changes.
func (c *Caller) By() string { return fmt.Sprintf("token %d", c.Token) }

// Needs defines who may call a route. A token is accepted when Kinds contains the token's kind, and
// AnyScope contains at least one of the token's scopes. An empty list allows all kinds or scopes.
// Only a public route may have two empty lists.
type Needs struct {
	// Public is set for a route that needs no token. Guarded is the name of a query parameter. A
	// call with this parameter needs a token even on a public route.
	Public   bool
	Guarded  string
	Kinds    []access.TokenKind
	AnyScope []passerelle.Scope
}

var (
	// Public is for endpoints that need no token.
	Public = Needs{Public: true}
	// AnyToken is for endpoints that need a token of any kind.
	AnyToken = Needs{Kinds: []access.TokenKind{
		access.UserToken, access.CodeToken, access.ServiceToken, access.PaymentToken, access.ConfigToken, access.UsersToken,
	}}
)

// open reports whether the call needs no token. The API refuses an unreadable query later, before
// it executes the call.
func (n Needs) open(query string) bool {
	if n.Guarded == "" {
		return n.Public
	}
	values, _ := url.ParseQuery(query)
	return n.Public && !values.Has(n.Guarded)
}

func (n Needs) check(p access.Principal) error {
	if len(n.Kinds) > 0 && !slices.Contains(n.Kinds, p.Kind) {
		return &passerelle.Error{Kind: passerelle.Forbidden, Code: "forbidden", Message: "This kind of token cannot be used for this call, which needs a token of the kind " + strings.Join(n.kinds(), " or ") + "."}
	}
	if len(n.AnyScope) > 0 && !p.Scopes.Has(n.AnyScope...) {
		return Lacking(n.AnyScope...)
	}
	return nil
}

// kinds returns the names of the accepted kinds of token.
func (n Needs) kinds() []string {
	names := make([]string, len(n.Kinds))
	for i, kind := range n.Kinds {
		names[i] = string(kind)
	}
	return names
}

// Lacking returns the error for a token without any of the scopes.
func Lacking(any ...passerelle.Scope) error {
	return &passerelle.Error{Kind: passerelle.Forbidden, Code: "forbidden", Message: "The token needs one of the scopes " + passerelle.Scopes(any).String() + "."}
}

// bearer returns the token in the Authorization header. It fails unless the header occurs exactly
// once.
func bearer(header http.Header) (string, error) {
	values := header["Authorization"]
	if len(values) != 1 {
		return "", unauthenticated("The Authorization header must be sent once, as \"Bearer <token>\".")
	}
	return Bearer(values[0])
}

// Bearer returns the token in the value of an Authorization header. The name of the scheme is
// case-insensitive (RFC 9110). Older programs of this API family use the scheme OAuth.
func Bearer(authorization string) (string, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	known := strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "OAuth")
	if !known || token == "" || strings.ContainsAny(token, " \t,") {
		return "", unauthenticated("The Authorization header must be \"Bearer <token>\".")
	}
	return token, nil
}

func unauthenticated(message string) error {
	return &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: message}
}

// strict reports whether the client prefers an error for unknown names (RFC 7240).
func strict(header http.Header) bool {
	for _, value := range header["Prefer"] {
		for preference := range strings.SplitSeq(value, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, wanted, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "handling") && strings.EqualFold(strings.Trim(wanted, ` "`), "strict") {
				return true
			}
		}
	}
	return false
}

// Origin returns the scheme and host that the client called. It uses the headers of a proxy only
// for a connection from a trusted proxy. When such a header has several values, Origin uses the
// last one, because the trusted proxy wrote it.
func Origin(r *http.Request, trusted []netip.Prefix) (string, string) {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if !fromProxy(r.RemoteAddr, trusted) {
		return scheme, host
	}
	if said := last(r.Header["X-Forwarded-Proto"]); said == "http" || said == "https" {
		scheme = said
	}
	if said := last(r.Header["X-Forwarded-Host"]); said != "" {
		host = said
	}
	return scheme, host
}

func fromProxy(remote string, trusted []netip.Prefix) bool {
	if len(trusted) == 0 {
		return false
	}
	return isProxy(hostOf(remote), trusted)
}

func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

func isProxy(address string, trusted []netip.Prefix) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// Address returns the caller's IP address. This is the address of the connection, unless the
// connection comes from a trusted proxy. Each proxy appends the address of its peer to
// X-Forwarded-For. Behind trusted proxies, the caller's address is the last one in this header that
// does not belong to a trusted proxy. Anybody could have written the addresses before it.
func Address(r *http.Request, trusted []netip.Prefix) string {
	address := hostOf(r.RemoteAddr)
	received := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(received) - 1; i >= 0 && isProxy(address, trusted); i-- {
		said := withoutPort(strings.TrimSpace(received[i]))
		if said == "" {
			break
		}
		address = said
	}
	return address
}

// withoutPort removes the port from an address in any notation. With ports, one caller would have
// many addresses.
func withoutPort(said string) string {
	if both, err := netip.ParseAddrPort(said); err == nil {
		return both.Addr().String()
	}
	return strings.TrimSuffix(strings.TrimPrefix(said, "["), "]")
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	words := strings.Split(values[len(values)-1], ",")
	return strings.TrimSpace(words[len(words)-1])
}

// identify sets the fields of the Caller that do not depend on the token. It fails for an unknown
// host, for an address that has used its whole quota, and during maintenance.
func (a *API) identify(ctx context.Context, x *exchange) error {
	scheme, host := Origin(x.request, a.config.TrustedProxies)
	token, _ := bearer(x.request.Header) // if the route needs a token, authorise reports a missing or wrong one
	served, shown, err := a.config.Domain(ctx, host, token)
	if err != nil {
		return err
	}
	x.shown = shown
	x.caller.Domain, x.caller.Settings = served.Domain, served.Settings
	x.caller.Location = x.caller.Settings.Location()
	x.caller.Base = scheme + "://" + host + cmp.Or(x.version, version)
	x.caller.Now = served.Clock.Now(a.config.Now())
	x.caller.Strict = strict(x.request.Header)
	x.caller.Request = a.config.RequestID(ctx)
	x.caller.Address = Address(x.request, a.config.TrustedProxies)
	if err := a.limit(x, x.fromAddress(), "from this address"); err != nil {
		return err
	}
	if served.Closed {
		return errClosed
	}
	return nil
}

// authorise looks up the token and checks that the route accepts it, unless the call needs no
// token.
func (a *API) authorise(ctx context.Context, x *exchange) error {
	needs, inAddress := x.endpoint.route.Needs, x.hideToken()
	if needs.open(x.request.URL.RawQuery) {
		return nil
	}
	token, err := x.presented(inAddress)
	if err != nil {
		return err
	}
	if token != x.shown.Text {
		x.shown = access.BearerToken{Text: token}
	}
	x.caller.Principal, err = a.config.Authenticate(ctx, x.caller.Domain, x.shown)
	if err != nil {
		return err
	}
	if err := a.limit(x, x.fromToken(), "with this token"); err != nil {
		return err
	}
	return needs.check(x.caller.Principal)
}
