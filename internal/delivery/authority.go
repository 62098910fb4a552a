package delivery

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/store"
)

// credential is what a request shows its receiver, so that it knows who calls.
type credential struct {
	// secret signs; next signs as well while it is to take the place of secret.
	// Each is empty when there is none.
	secret, next string
	// bearer is the token of the Authorization header, empty for none.
	bearer string
	// detail is a sentence for the log of requests, without secrets; it may be
	// empty.
	detail string
}

// authority gives the requests to a webhook their credentials. It is good for
// one page of deliveries and safe for concurrent use.
type authority struct {
	secret string
}

// authority looks up what the requests to a webhook show.
func (t *turn) authority(ctx context.Context, w store.Webhook) (*authority, error) {
	if w.Auth == 0 {
		return &authority{}, nil
	}
	provider, err := t.DB.AuthProvider(ctx, t.domain.ID, w.Auth)
	if err != nil {
		return nil, fmt.Errorf("load the provider of webhook %d: %w", w.ID, err)
	}
	return &authority{secret: provider.Secret}, nil
}

// credential is for a request about an event of a user, who is zero when the
// event belongs to none. Its error is a short sentence without a secret: it is
// kept as the failure of the request.
func (a *authority) credential(context.Context, passerelle.UserID) (credential, error) {
	return credential{secret: a.secret}, nil
}

// renew answers a receiver that has refused a credential with status 401. It
// reports whether another request, with the credential returned, should be
// made.
func (a *authority) renew(_ context.Context, refused credential) (credential, bool, error) {
	return refused, false, nil
}
