package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// Client is an application with credentials. Only the hash of its secret is stored.
type Client struct {
	ID     passerelle.ClientID
	Domain passerelle.DomainID
	Name   string
	// SecretHash is the SHA-256 hash of the random secret.
	SecretHash []byte
	// RedirectURIs are the registered addresses to which payers return. An empty list allows any
	// address in a sandbox domain, and no address in a live domain.
	RedirectURIs []string
	// PublicKey is the key, as PEM, that verifies the application's signed tokens. It is empty when
	// the application has no key pair.
	PublicKey string
	Appearance
	// Config contains the texts that are stored for the application, by key. It is nil without such
	// texts.
	Config map[string]string
	// Logo is the id of the application's picture, or zero.
	Logo    int64
	Created time.Time
	// Used is the approximate time when the secret was last used. It is nil when the secret was
	// never used.
	Used *time.Time
}

// Appearance contains an application's colours and descriptions.
type Appearance struct {
	PrimaryColor, SecondaryColor                        string
	Description, DescriptionBanks, DescriptionProviders string
	// Pro is set for applications that serve businesses.
	Pro bool
}

const clientColumns = `id, domain_id, name, secret_hash, redirect_uris, public_key, primary_color, secondary_color, description, description_banks,
	description_providers, pro, config, (SELECT l.id FROM client_logo l WHERE l.client_id = client.id) AS logo_id, created, last_used`

func scanClient(row database.Row) (Client, error) {
	var (
		c                                                          Client
		uris, config                                               string
		key, primary, secondary, description, onBanks, onProviders *string
		logo, used                                                 *int64
		created                                                    int64
	)
	err := row.Scan(&c.ID, &c.Domain, &c.Name, &c.SecretHash, &uris, &key, &primary, &secondary, &description, &onBanks,
		&onProviders, &c.Pro, &config, &logo, &created, &used)
	if err != nil {
		return c, err
	}
	c.PrimaryColor, c.SecondaryColor, c.PublicKey = database.Text[string](primary), database.Text[string](secondary), database.Text[string](key)
	c.Description, c.DescriptionBanks, c.DescriptionProviders = database.Text[string](description), database.Text[string](onBanks), database.Text[string](onProviders)
	c.RedirectURIs, c.Created, c.Logo, c.Used = strings.Fields(uris), database.Instant(created), database.ID[int64](logo), database.OptionalInstant(used)
	c.Config, err = readTexts(config)
	return c, err
}

// noTexts is the stored form of an empty map of texts.
const noTexts = "{}"

// storedTexts encodes a map of texts for storage.
func storedTexts(texts map[string]string) (string, error) {
	if len(texts) == 0 {
		return noTexts, nil
	}
	raw, err := json.Marshal(texts)
	if err != nil {
		return "", fmt.Errorf("encode texts: %w", err)
	}
	return string(raw), nil
}

// readTexts decodes a map that storedTexts encoded. It returns nil for an empty map.
func readTexts(stored string) (map[string]string, error) {
	var (
		texts map[string]string
		err   error
	)
	if stored != noTexts {
		err = json.Unmarshal([]byte(stored), &texts)
	}
	return texts, err
}

// Client loads a client. It fails with ErrNotFound when the client does not exist or is deleted.
func (r *Reader) Client(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) (Client, error) {
	return database.ByKey(ctx, r.rows, scanClient, `SELECT `+clientColumns+` FROM client WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL`,
		int64(domain), int64(id))
}

// RedirectURIs returns the redirect URIs of a client. It fails with ErrNotFound when the client
// does not exist or is deleted. It reads no other column, because it runs for every new payment.
func (r *Reader) RedirectURIs(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) ([]string, error) {
	uris, err := database.ByKey(ctx, r.rows, database.ScanString,
		`SELECT redirect_uris FROM client WHERE domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), int64(id))
	return strings.Fields(uris), err
}

// RedirectURIsOfPayment returns the redirect URIs of the client that registered a payment. For a
// deleted client, it returns an empty list, because the payment outlives the client. It fails with
// ErrNotFound when the payment does not exist.
func (r *Reader) RedirectURIsOfPayment(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) ([]string, error) {
	uris, err := database.ByKey(ctx, r.rows, database.ScanString,
		`SELECT CASE WHEN deleted IS NULL THEN redirect_uris ELSE '' END FROM client WHERE +domain_id = $1 AND id = (SELECT client_id FROM payment WHERE +domain_id = $1 AND id = $2)`, int64(domain), int64(id))
	return strings.Fields(uris), err
}

// Clients lists a domain's clients that are not deleted, oldest first.
func (r *Reader) Clients(ctx context.Context, domain passerelle.DomainID) ([]Client, error) {
	return database.Collect(ctx, r.rows, scanClient, `SELECT `+clientColumns+` FROM client WHERE domain_id = $1 AND deleted IS NULL ORDER BY client.id`,
		int64(domain))
}

// ClientPage reads a window of a domain's clients that are not deleted, in the order of their ids.
func (r *Reader) ClientPage(ctx context.Context, domain passerelle.DomainID, w Window) ([]Client, error) {
	p := w.ByID()
	return database.Collect(ctx, r.rows, scanClient, `SELECT `+clientColumns+` FROM client WHERE domain_id = $1 AND deleted IS NULL AND client.id `+p.Sign+` $2
		ORDER BY client.id `+p.Order+` LIMIT $3`, int64(domain), p.From, w.Limit)
}

// OnlyClient returns the only client of a domain. It fails with ErrNotFound when the domain has no
// client or several clients.
func (r *Reader) OnlyClient(ctx context.Context, domain passerelle.DomainID) (passerelle.ClientID, error) {
	first, err := database.Collect(ctx, r.rows, database.ScanInt, `SELECT id FROM client WHERE domain_id = $1 AND deleted IS NULL ORDER BY id LIMIT 2`, int64(domain))
	if err == nil && len(first) != 1 {
		err = ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return passerelle.ClientID(first[0]), nil
}

// CreateClient stores a client and sets its id. Redirect URIs contain no white space, so they
// are stored as one text.
func (tx *Tx) CreateClient(c *Client) error {
	id, err := tx.unit.NewID("client")
	if err != nil {
		return err
	}
	c.ID = passerelle.ClientID(id)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(c.Domain), c.Name, c.SecretHash, strings.Join(c.RedirectURIs, " "), database.Micros(c.Created))
	return tx.UpdateClient(Client{ID: c.ID, Domain: c.Domain, Name: c.Name, SecretHash: c.SecretHash, RedirectURIs: c.RedirectURIs}, *c)
}

// UpdateClient stores all fields of a client except its key, its logo and its times. Write fails
// with ErrNotFound when the client is deleted, and with ErrConflict when a stored field differs
// from the field in the argument former.
func (tx *Tx) UpdateClient(former, c Client) error {
	before, err := storedClient(former)
	if err != nil {
		return err
	}
	after, err := storedClient(c)
	if err != nil {
		return err
	}
	tx.UseClient(c.Domain, c.ID)
	tx.unit.ExecOne(ErrConflict, `UPDATE client SET name = $1, secret_hash = $2, redirect_uris = $3, primary_color = $4, secondary_color = $5,
		description = $6, description_banks = $7, description_providers = $8, pro = $9, config = $10
		WHERE +domain_id = $11 AND id = $12 AND name = $13 AND secret_hash = $14 AND redirect_uris = $15 AND COALESCE(primary_color, '') = COALESCE($16, '')
			AND COALESCE(secondary_color, '') = COALESCE($17, '') AND COALESCE(description, '') = COALESCE($18, '')
			AND COALESCE(description_banks, '') = COALESCE($19, '') AND COALESCE(description_providers, '') = COALESCE($20, '') AND pro = $21 AND config = $22`,
		slices.Concat(after, []any{int64(c.Domain), int64(c.ID)}, before)...)
	return nil
}

// storedClient returns the values of the columns that UpdateClient sets.
func storedClient(c Client) ([]any, error) {
	config, err := storedTexts(c.Config)
	return []any{
		c.Name, c.SecretHash, strings.Join(c.RedirectURIs, " "), database.OptionalText(c.PrimaryColor), database.OptionalText(c.SecondaryColor),
		database.OptionalText(c.Description), database.OptionalText(c.DescriptionBanks), database.OptionalText(c.DescriptionProviders), c.Pro, config,
	}, err
}

// NoteClientUse stores `at` as the time when a client's secret was last used. It writes nothing
// when the stored time is after `since`.
func (tx *Tx) NoteClientUse(domain passerelle.DomainID, id passerelle.ClientID, at, since time.Time) {
	tx.unit.Exec(`UPDATE client SET last_used = $1 WHERE +domain_id = $2 AND id = $3 AND (last_used IS NULL OR last_used <= $4)`,
		database.Micros(at), int64(domain), int64(id), database.Micros(since))
}

func clientKeyPlace(domain passerelle.DomainID, id passerelle.ClientID) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "client", Column: "private_key", Row: int64(id)}
}

// SetClientKeys replaces the key pair of a client. The private key is stored encrypted, and the
// public key as PEM.
func (tx *Tx) SetClientKeys(domain passerelle.DomainID, id passerelle.ClientID, private []byte, public string) error {
	sealed, err := tx.Seal(clientKeyPlace(domain, id), private)
	if err != nil {
		return fmt.Errorf("seal the key of a client: %w", err)
	}
	tx.unit.ExecOne(ErrNotFound, `UPDATE client SET private_key = $1, public_key = $2 WHERE +domain_id = $3 AND id = $4 AND deleted IS NULL`,
		sealed, public, int64(domain), int64(id))
	return nil
}

// ClientKey returns the private key of a client. It fails with ErrNotFound when the client is
// deleted or has no key pair.
func (r *Reader) ClientKey(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) ([]byte, error) {
	sealed, err := database.One(ctx, r.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT private_key FROM client WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL AND private_key IS NOT NULL`, int64(domain), int64(id))
	if err != nil {
		return nil, err
	}
	private, err := r.keys.Open(clientKeyPlace(domain, id), sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: the key of client %d: %w", ErrSealed, id, err)
	}
	return private, nil
}

// Logo is the picture of a client, of media type image/png or image/jpeg.
type Logo struct {
	ID        int64
	MediaType string
	Content   []byte
}

// SetLogo replaces the logo of a client, and sets the id of the logo. Write fails with ErrNotFound
// when the client does not exist or is deleted.
func (tx *Tx) SetLogo(domain passerelle.DomainID, id passerelle.ClientID, l *Logo, now time.Time) error {
	newID, err := tx.unit.NewID("client_logo")
	if err != nil {
		return err
	}
	l.ID = newID
	tx.unit.Exec(`DELETE FROM client_logo WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
	tx.unit.ExecOne(ErrNotFound, `INSERT INTO client_logo (id, client_id, domain_id, media_type, content, created)
		SELECT $1, id, domain_id, $2, $3, $4 FROM client WHERE +domain_id = $5 AND id = $6 AND deleted IS NULL`,
		newID, l.MediaType, l.Content, database.Micros(now), int64(domain), int64(id))
	return nil
}

// DeleteLogo removes the logo of a client. Write fails with ErrNotFound when the client has no
// logo.
func (tx *Tx) DeleteLogo(domain passerelle.DomainID, id passerelle.ClientID) {
	tx.unit.ExecOne(ErrNotFound, `DELETE FROM client_logo WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
}

// Logo returns the picture of a client. It fails with ErrNotFound when the client has no logo.
func (r *Reader) Logo(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) (Logo, error) {
	return database.One(ctx, r.rows, func(row database.Row) (Logo, error) {
		var l Logo
		err := row.Scan(&l.ID, &l.MediaType, &l.Content)
		return l, err
	}, `SELECT id, media_type, content FROM client_logo WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
}

// UseClient prevents other changes and the deletion of the client until the unit ends. A unit that
// assigns a client to a webhook must call UseClient. Write fails with ErrNotFound when the client
// has been deleted.
func (tx *Tx) UseClient(domain passerelle.DomainID, id passerelle.ClientID) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE client SET name = name WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), int64(id))
}

// DeleteClient marks a client as deleted, revokes its tokens and removes its logo. The client's
// webhooks then belong to no client.
func (tx *Tx) DeleteClient(domain passerelle.DomainID, id passerelle.ClientID, now time.Time) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE client SET deleted = $1 WHERE +domain_id = $2 AND id = $3 AND deleted IS NULL`, database.Micros(now), int64(domain), int64(id))
	tx.unit.Exec(`UPDATE token SET revoked = $1 WHERE domain_id = $2 AND client_id = $3 AND revoked IS NULL`, database.Micros(now), int64(domain), int64(id))
	tx.unit.Exec(`DELETE FROM user_token WHERE +domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
	tx.unit.Exec(`DELETE FROM client_logo WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
	tx.unit.Exec(`UPDATE webhook SET client_id = NULL WHERE domain_id = $1 AND client_id = $2`, int64(domain), int64(id))
}
