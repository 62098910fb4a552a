package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// MaxName is how many characters the name of an application may have.
const MaxName = 255

// Credentials are how an application identifies itself.
type Credentials struct {
	ClientID string
	Secret   string
}

func badCredentials() error {
	return &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: "client_id, client_secret: unknown application or wrong secret."}
}

// Application finds the client whose credentials these are. An unknown id
// takes the same path as a wrong secret.
func (a *Access) Application(ctx context.Context, domain passerelle.DomainID, c Credentials) (store.Client, error) {
	id, err := strconv.ParseInt(c.ClientID, 10, 64)
	if err != nil {
		return store.Client{}, badCredentials()
	}
	client, err := a.DB.Client(ctx, domain, passerelle.ClientID(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Client{}, fmt.Errorf("load client %d: %w", id, err)
	}
	if subtle.ConstantTimeCompare(client.SecretHash, hash(c.Secret)) != 1 {
		return store.Client{}, badCredentials()
	}
	return client, nil
}

// Register creates an application and returns its secret, shown once.
func (a *Access) Register(ctx context.Context, domain passerelle.DomainID, name string, redirectURIs []string) (store.Client, string, error) {
	secret := randomHex(32)
	client := store.Client{Domain: domain, Name: name, SecretHash: hash(secret), RedirectURIs: redirectURIs, Created: a.Now()}
	if err := checkClient(client); err != nil {
		return store.Client{}, "", err
	}
	if err := a.DB.Write(ctx, func(tx *store.Tx) error { return tx.CreateClient(&client) }); err != nil {
		return store.Client{}, "", fmt.Errorf("store a client: %w", err)
	}
	return client, secret, nil
}

// Change says what to change of an application; nil leaves a thing as it is.
type Change struct {
	Name         *string
	RedirectURIs []string
	// ResetSecret makes a new secret; the old one is refused from then on.
	ResetSecret bool
}

// Update changes an application and returns its new secret, if it got one,
// shown once. One that is not there is store.ErrNotFound.
func (a *Access) Update(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, c Change) (store.Client, string, error) {
	client, err := a.DB.Client(ctx, domain, id)
	if err != nil {
		return client, "", fmt.Errorf("load client %d: %w", id, err)
	}
	secret := c.apply(&client)
	if err := checkClient(client); err != nil {
		return client, "", err
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.UpdateClient(client)
		return nil
	})
	if err != nil {
		return client, "", fmt.Errorf("store client %d: %w", id, err)
	}
	return client, secret, nil
}

func (c Change) apply(client *store.Client) (secret string) {
	if c.Name != nil {
		client.Name = *c.Name
	}
	if c.RedirectURIs != nil {
		client.RedirectURIs = c.RedirectURIs
	}
	if c.ResetSecret {
		secret = randomHex(32)
		client.SecretHash = hash(secret)
	}
	return secret
}

func checkClient(client store.Client) error {
	for i, uri := range client.RedirectURIs {
		if _, err := passerelle.ParseRedirectURI(fmt.Sprintf("redirect_uris[%d]", i), uri); err != nil {
			return err
		}
	}
	if strings.TrimSpace(client.Name) == "" {
		return passerelle.MissingField("name", "an application needs a name that payers and operators can read")
	}
	return passerelle.CheckLine("name", client.Name, MaxName)
}

// Delete removes an application and ends its tokens. One that is not there is
// store.ErrNotFound.
func (a *Access) Delete(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) (time.Time, error) {
	now := a.Now()
	return now, a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DeleteClient(domain, id, now)
		return nil
	})
}
