package store

import (
	"context"
	"strings"
	"time"

	"passerelle"
)

// Client is an application with credentials. Its secret is known by hash only.
type Client struct {
	ID     passerelle.ClientID
	Domain passerelle.DomainID
	Name   string
	// SecretHash is the SHA-256 of the secret, which is random.
	SecretHash []byte
	// RedirectURIs are the only ones payers are sent back to; none means any
	// in a sandbox domain and none in a live one.
	RedirectURIs []string
	Created      time.Time
}

const clientColumns = `id, domain_id, name, secret_hash, redirect_uris, created`

func scanClient(row scanner) (Client, error) {
	var (
		c       Client
		uris    string
		created int64
	)
	err := row.Scan(&c.ID, &c.Domain, &c.Name, &c.SecretHash, &uris, &created)
	c.RedirectURIs, c.Created = strings.Fields(uris), instant(created)
	return c, err
}

// Client loads a client that is not deleted, or ErrNotFound.
func (r *Reader) Client(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) (Client, error) {
	return one(ctx, r, scanClient, `SELECT `+clientColumns+` FROM client WHERE domain_id = $1 AND id = $2 AND deleted IS NULL`,
		int64(domain), int64(id))
}

// Clients lists the clients of a domain that are not deleted, oldest first.
func (r *Reader) Clients(ctx context.Context, domain passerelle.DomainID) ([]Client, error) {
	return collect(ctx, r, scanClient, `SELECT `+clientColumns+` FROM client WHERE domain_id = $1 AND deleted IS NULL ORDER BY id`,
		int64(domain))
}

// CreateClient stores a client and gives it its id. A redirect URI has no
// white space, so they are stored as one text.
func (tx *Tx) CreateClient(c *Client) error {
	id, err := tx.newID("client")
	if err != nil {
		return err
	}
	c.ID = passerelle.ClientID(id)
	tx.execOne(ErrConflict, `INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(c.Domain), c.Name, c.SecretHash, strings.Join(c.RedirectURIs, " "), micros(c.Created))
	return nil
}

// UpdateClient stores a client's name, secret hash and redirect URIs.
func (tx *Tx) UpdateClient(c Client) {
	tx.execOne(ErrNotFound, `UPDATE client SET name = $1, secret_hash = $2, redirect_uris = $3 WHERE domain_id = $4 AND id = $5 AND deleted IS NULL`,
		c.Name, c.SecretHash, strings.Join(c.RedirectURIs, " "), int64(c.Domain), int64(c.ID))
}

// DeleteClient marks a client deleted and revokes its tokens with it.
func (tx *Tx) DeleteClient(domain passerelle.DomainID, id passerelle.ClientID, now time.Time) {
	tx.execOne(ErrNotFound, `UPDATE client SET deleted = $1 WHERE domain_id = $2 AND id = $3 AND deleted IS NULL`, micros(now), int64(domain), int64(id))
	tx.exec(`UPDATE token SET revoked = $1 WHERE domain_id = $2 AND client_id = $3 AND revoked IS NULL`, micros(now), int64(domain), int64(id))
	tx.exec(`DELETE FROM user_token WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
}
