package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// errSoon is the error when the package makes no request because a recent request failed.
var errSoon = errors.New("the last request to it failed a moment ago")

// keys holds a provider's signing keys. When an unknown key has signed a token, the package fetches
// the keys. If the fetched keys lack that key, the package does not fetch again for a few seconds.
type keys struct {
	remote *oidc.RemoteKeySet
	now    func() time.Time

	mu     sync.Mutex
	failed time.Time
}

func newKeys(ctx context.Context, client *http.Client, address string, now func() time.Time) *keys {
	k := &keys{now: now}
	paced := *client
	paced.Transport = transport(func(r *http.Request) (*http.Response, error) {
		if k.silent() {
			return nil, errSoon
		}
		return client.Transport.RoundTrip(r)
	})
	k.remote = oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &paced), address)
	return k
}

func (k *keys) silent() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.failed.IsZero() && k.now().Sub(k.failed) < silence
}

// inVain records that a fetch did not return the key that signed the token.
func (k *keys) inVain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.failed) >= silence {
		k.failed = k.now()
	}
}

// signature is the signature of one token. It does not pass on errors of the library, because they
// may quote the provider's response.
type signature struct {
	*keys
	// err is the error of a failed check. It wraps ErrAway or ErrNotVouched.
	err error
}

// VerifySignature returns the signed payload.
func (s *signature) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	content, err := s.remote.VerifySignature(ctx, token)
	if err == nil {
		return content, nil
	}
	if ctx.Err() == nil {
		s.inVain()
	}
	s.err = notVouched("none of its keys has signed the token")
	if unanswered := new(url.Error); errors.As(err, &unanswered) && !errors.Is(err, errSoon) {
		s.err = fmt.Errorf("%w: its keys: %w", ErrAway, unanswered.Err)
	}
	return nil, s.err
}

// transport is a function that makes a request.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// onlyStatus200 returns a client that fails for responses with a status other than 200. The library
// would put the bodies of such responses into errors, and these bodies can contain any text.
func onlyStatus200(client *http.Client) *http.Client {
	twin := *client
	twin.Transport = transport(func(r *http.Request) (*http.Response, error) {
		answer, err := client.Transport.RoundTrip(r)
		if err != nil || answer.StatusCode == http.StatusOK {
			return answer, err
		}
		return nil, errors.Join(fmt.Errorf("it answered with %d", answer.StatusCode), answer.Body.Close())
	})
	return &twin
}
