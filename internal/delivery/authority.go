package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// credential proves to a receiver that the service sent a request.
type credential struct {
	// secret signs requests. During a rotation, next also signs them. A secret that does not exist
	// is empty.
	secret, next string
	// bearer is the token of the Authorization header, or empty.
	bearer string
	// detail is a sentence for the request log, without secrets. It may be empty.
	detail string
}

// authority provides the credentials of requests to a webhook. Each page of deliveries has its own
// authority. An authority is safe for concurrent use.
type authority struct {
	d        *Delivery
	domain   passerelle.Domain
	webhook  store.Webhook
	provider *store.AuthProvider // nil without a provider
	// client trusts the certificate authorities of the domain.
	client      *http.Client
	authorities string
	// limit is the longest time that a request for an access token may take.
	limit time.Duration

	mu sync.Mutex
	// users caches the credentials for events of users.
	users map[passerelle.UserID]credential
	// added caches the members that are added to payloads, by user.
	added map[passerelle.UserID][]byte
}

// errHeldUp stops work for a webhook whose provider was deleted. Without the provider, requests
// would not be authenticated.
var errHeldUp = passerelle.Conflicting("The authentication provider of the webhook was deleted; give it another one first.")

// authority returns the authority of a webhook.
func (s *leaseSession) authority(to store.Addressee, values settings.Values) (*authority, error) {
	var err error
	a := &authority{d: s.d, domain: s.job.domain, webhook: to.Webhook, users: map[passerelle.UserID]credential{}, added: map[passerelle.UserID][]byte{}}
	if to.Auth == 0 {
		return a, nil
	}
	if to.AuthDeleted || to.Provider == nil {
		return nil, errHeldUp
	}
	a.provider, a.limit = to.Provider, min(maxTokenTime, values.Seconds(settings.DeliveryTimeout)/2)
	a.authorities = values.Valid(settings.Authorities)
	a.client, err = s.d.process.trusts.client(s.d.Client, a.authorities)
	return a, err
}

// credential returns the credential for a request about an event. user is the user of the event, or
// zero. The error is a short text without secrets, which is stored as the failure of the request.
func (a *authority) credential(ctx context.Context, user passerelle.UserID) (credential, error) {
	switch {
	case a.provider != nil && a.provider.Type == OAuth:
		token, err := a.d.process.tokens.get(ctx, a.endpoint())
		return credential{bearer: token}, err
	case a.provider != nil:
		secret, next := a.provider.Secrets(a.d.Now())
		return credential{secret: secret, next: next}, nil
	case user == 0:
		return credential{}, nil
	}
	return a.ofUser(ctx, user)
}

// asks reports whether a credential comes from the database or from a token endpoint.
func (a *authority) asks(user passerelle.UserID) bool {
	if a.provider == nil {
		return user != 0
	}
	return a.provider.Type == OAuth
}

// renewedToken is the detail of a request that repeats a refused request. Only the repetition is
// recorded.
const renewedToken = "The first request was refused with status 401. This one has a new access token."

// renew handles the status 401 with which a receiver has refused a credential. It returns a new
// credential, and reports whether to send another request with it.
func (a *authority) renew(ctx context.Context, refused credential) (credential, bool, error) {
	if a.provider == nil || a.provider.Type != OAuth {
		return refused, false, nil
	}
	token, err := a.d.process.tokens.replace(ctx, a.endpoint(), refused.bearer)
	return credential{bearer: token, detail: renewedToken}, token != refused.bearer && err == nil, err
}

func (a *authority) endpoint() endpoint {
	return endpoint{*a.provider, a.client, a.authorities, a.d.Now, a.limit, a.d.Log, a.d.agent}
}

// errUserToken hides its cause, because clients can read the failures of requests. The log contains
// the cause.
var errUserToken = errors.New("the token of the user cannot be read")

// ofUser returns the credential with the token of the event's user. It queries the database once
// for each user on a page of deliveries.
func (a *authority) ofUser(ctx context.Context, user passerelle.UserID) (credential, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, found := a.users[user]; found {
		return known, nil
	}
	found, err := a.userToken(ctx, user)
	if err != nil {
		a.d.Log.ErrorContext(ctx, "no user token for a webhook", "webhook", a.webhook.ID, "error", err)
		return credential{}, errUserToken
	}
	a.users[user] = found
	return found, nil
}

// userToken returns the credential with a user's newest permanent token that was issued to the
// webhook's application. Without such a token, the request has no token.
func (a *authority) userToken(ctx context.Context, user passerelle.UserID) (credential, error) {
	client := a.webhook.Client
	if client == 0 {
		return credential{detail: "No user token: the webhook belongs to no application."}, nil
	}
	token, err := a.d.DB.WebhookToken(ctx, a.domain.ID, client, user)
	if errors.Is(err, store.ErrNotFound) {
		return credential{detail: fmt.Sprintf("No user token: application %d has no permanent token of user %d that is valid.", client, user)}, nil
	}
	return credential{bearer: token}, err
}
