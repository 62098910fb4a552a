package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// MaxAuthProviders limits the providers of a domain. Units that create providers at the same time
// may exceed the limit.
const MaxAuthProviders = 1000

// ErrFull reports that a domain has reached the limit of authentication providers.
var ErrFull = errors.New("the domain has the maximum number of authentication providers")

// AuthProvider is a method by which receivers authenticate webhook requests. Its secrets are sealed
// in the database.
type AuthProvider struct {
	ID     int64
	Domain passerelle.DomainID
	Type   string // "hmac_signature" or "oauth"
	Name   string
	// Secret signs requests, or it is the client's secret at a token endpoint.
	Secret string
	// NextSecret replaces Secret at NextFrom, an instant of real time. When no replacement is
	// planned, NextSecret is empty and NextFrom is nil.
	NextSecret string
	NextFrom   *time.Time
	// Endpoint is nil unless the type is "oauth".
	Endpoint *TokenEndpoint
	Created  time.Time
	Updated  *time.Time
}

// TokenEndpoint is the endpoint that issues access tokens for an oauth provider. It contains the
// client's credentials.
type TokenEndpoint struct {
	URL       string `json:"url"`
	ClientID  string `json:"client_id"`
	GrantType string `json:"grant_type"`
	// PublicCert and PrivateCert are the client's certificate and private key as PEM. Both are set,
	// or both are empty.
	PublicCert  string `json:"public_cert,omitempty"`
	PrivateCert string `json:"private_cert,omitempty"`
}

// Secrets returns the secrets that sign requests at an instant of real time: the present secret and
// the next secret. The second result is empty when only one secret is in use.
func (a AuthProvider) Secrets(now time.Time) (string, string) {
	if a.NextFrom != nil && !a.NextFrom.After(now) {
		return a.NextSecret, ""
	}
	return a.Secret, a.NextSecret
}

const authColumns = `id, domain_id, type, name, secret, next_secret, next_from, config, created, updated`

func (r *Reader) scanAuthProvider(row database.Row) (AuthProvider, error) {
	var found authRow
	if err := row.Scan(found.columns()...); err != nil {
		return AuthProvider{}, err
	}
	return found.open(r.keys)
}

// authRow is a row of a provider. All its columns are null when a join found no provider.
type authRow struct {
	id, domain, created, nextFrom, updated *int64
	kind, name                             *string
	secret, next, config                   []byte
}

func (a *authRow) columns() []any {
	return []any{&a.id, &a.domain, &a.kind, &a.name, &a.secret, &a.next, &a.nextFrom, &a.config, &a.created, &a.updated}
}

func (a *authRow) open(ring *keys.Ring) (AuthProvider, error) {
	found := AuthProvider{
		ID: *a.id, Domain: passerelle.DomainID(*a.domain), Type: *a.kind, Name: *a.name,
		NextFrom: database.OptionalInstant(a.nextFrom), Created: database.Instant(*a.created), Updated: database.OptionalInstant(a.updated),
	}
	if err := found.open(ring, a.secret, a.next, a.config); err != nil {
		return found, fmt.Errorf("open authentication provider %d: %w", found.ID, err)
	}
	return found, nil
}

// secretPlace returns the place of both secrets. The next secret is sealed for the column of the
// present secret, because RotateSecret may move it to that column.
func (a *AuthProvider) secretPlace() keys.Place { return a.place("secret") }
func (a *AuthProvider) configPlace() keys.Place { return a.place("config") }

func (a *AuthProvider) place(column string) keys.Place {
	return keys.Place{Domain: int64(a.Domain), Table: "auth_provider", Column: column, Row: a.ID}
}

func (a *AuthProvider) open(ring *keys.Ring, secret, next, config []byte) error {
	present, err := ring.Open(a.secretPlace(), secret)
	if err != nil {
		return err
	}
	a.Secret = string(present)
	if next != nil {
		following, err := ring.Open(a.secretPlace(), next)
		if err != nil {
			return err
		}
		a.NextSecret = string(following)
	}
	if config == nil {
		return nil
	}
	plain, err := ring.Open(a.configPlace(), config)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, &a.Endpoint)
}

// seal returns the encrypted secret and the encrypted configuration.
func (a *AuthProvider) seal(tx *Tx) ([]byte, []byte, error) {
	secret, err := tx.Seal(a.secretPlace(), []byte(a.Secret))
	if err != nil || a.Endpoint == nil {
		return secret, nil, err
	}
	config, err := tx.sealJSON(a.configPlace(), a.Endpoint)
	return secret, config, err
}

// AuthProvider loads a provider. It fails with ErrNotFound when the provider does not exist or is
// deleted.
func (r *Reader) AuthProvider(ctx context.Context, domain passerelle.DomainID, id int64) (AuthProvider, error) {
	return database.One(ctx, r.rows, r.scanAuthProvider, `SELECT `+authColumns+` FROM auth_provider WHERE domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), id)
}

// AuthProviderNamed loads the provider with exactly this name. It fails with ErrNotFound when the
// provider does not exist or is deleted.
func (r *Reader) AuthProviderNamed(ctx context.Context, domain passerelle.DomainID, name string) (AuthProvider, error) {
	return database.One(ctx, r.rows, r.scanAuthProvider, `SELECT `+authColumns+` FROM auth_provider WHERE domain_id = $1 AND name = $2 AND deleted IS NULL`, int64(domain), name)
}

// AuthProviderNames returns the names of the providers with these ids. It ignores zero ids and
// omits deleted providers.
func (r *Reader) AuthProviderNames(ctx context.Context, domain passerelle.DomainID, ids ...int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	list, args := idList(domain, ids)
	err := r.rows.Each(ctx, `SELECT id, name FROM auth_provider WHERE domain_id = $1 AND id IN (`+list+`) AND deleted IS NULL`, args, func(row database.Row) (bool, error) {
		var (
			id   int64
			name string
		)
		err := row.Scan(&id, &name)
		names[id] = name
		return true, err
	})
	return names, err
}

// ProviderFilter selects the providers of a domain.
type ProviderFilter struct {
	Domain passerelle.DomainID
	Name   *string // nil for all
}

func (f ProviderFilter) selection() database.Selection {
	s := database.Selection{From: "auth_provider"}.And("domain_id = $%d", int64(f.Domain)).And("deleted IS NULL")
	if f.Name != nil {
		s = s.And("name = $%d", *f.Name)
	}
	return s
}

// AuthProviders lists a window of the selected providers, ordered by id.
func (r *Reader) AuthProviders(ctx context.Context, f ProviderFilter, w Window) ([]AuthProvider, error) {
	sql, args := f.selection().ByID(authColumns, "id", w)
	return database.Collect(ctx, r.rows, r.scanAuthProvider, sql, args...)
}

// CountAuthProviders counts the providers that a filter selects.
func (r *Reader) CountAuthProviders(ctx context.Context, f ProviderFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// WebhooksWithProvider lists a domain's webhooks that use a provider and are not deleted. The list
// has at most `limit` webhooks. If `provider` is zero, it lists webhooks that use any provider.
func (r *Reader) WebhooksWithProvider(ctx context.Context, domain passerelle.DomainID, provider int64, limit int) ([]passerelle.WebhookID, error) {
	which, args := `auth_id IS NOT NULL`, []any{int64(domain), limit}
	if provider != 0 {
		which, args = `auth_id = $3`, append(args, provider)
	}
	scan := func(row database.Row) (passerelle.WebhookID, error) {
		var id passerelle.WebhookID
		err := row.Scan(&id)
		return id, err
	}
	return database.Collect(ctx, r.rows, scan, `SELECT id FROM webhook WHERE domain_id = $1 AND `+which+` AND deleted IS NULL ORDER BY id LIMIT $2`, args...)
}

// CreateAuthProvider stores a provider and sets its id. Write fails with ErrDuplicate when the
// name is in use, and with ErrFull when the domain has MaxAuthProviders.
func (tx *Tx) CreateAuthProvider(a *AuthProvider) error {
	id, err := tx.unit.NewID("auth_provider")
	if err != nil {
		return err
	}
	a.ID = id
	secret, config, err := a.seal(tx)
	if err != nil {
		return fmt.Errorf("seal an authentication provider: %w", err)
	}
	tx.unit.Query(func(row database.Row) error {
		n, err := database.ScanInt(row)
		if err == nil && n >= MaxAuthProviders {
			err = ErrFull
		}
		return err
	}, `SELECT count(*) FROM auth_provider WHERE domain_id = $1 AND deleted IS NULL`, int64(a.Domain))
	tx.unit.ExecOne(ErrConflict, `INSERT INTO auth_provider (id, domain_id, type, name, secret, config, created) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, int64(a.Domain), a.Type, a.Name, secret, config, database.Micros(a.Created))
	return nil
}

// RenameAuthProvider stores the name of a provider and the time of the change. A nil name leaves
// the name unchanged. A simultaneous change of the secret stays. Write fails with ErrDuplicate when
// the name is in use.
func (tx *Tx) RenameAuthProvider(domain passerelle.DomainID, id int64, name *string, now time.Time) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE auth_provider SET name = COALESCE($1, name), updated = $2 WHERE domain_id = $3 AND id = $4 AND deleted IS NULL`,
		name, database.Micros(now), int64(domain), id)
}

// UpdateTokenEndpoint stores the secret and the endpoint of an oauth provider. Write fails with
// ErrConflict when the stored secret or endpoint differs from the value in the argument former.
func (tx *Tx) UpdateTokenEndpoint(former, a AuthProvider, now time.Time) error {
	secret, config, err := a.seal(tx)
	if err != nil {
		return fmt.Errorf("seal authentication provider %d: %w", a.ID, err)
	}
	tx.unit.Query(func(row database.Row) error {
		stored := AuthProvider{ID: a.ID, Domain: a.Domain}
		var secret, config []byte
		if err := row.Scan(&secret, &config); err != nil {
			return err
		}
		if err := stored.open(tx.keys, secret, nil, config); err != nil {
			return fmt.Errorf("open authentication provider %d: %w", a.ID, err)
		}
		if stored.Secret != former.Secret || !reflect.DeepEqual(stored.Endpoint, former.Endpoint) {
			return ErrConflict
		}
		return nil
	}, `SELECT secret, config FROM auth_provider WHERE domain_id = $1 AND id = $2 AND deleted IS NULL {for update}`, int64(a.Domain), a.ID)
	tx.unit.ExecOne(ErrNotFound, `UPDATE auth_provider SET secret = $1, config = $2, updated = $3 WHERE domain_id = $4 AND id = $5 AND type = 'oauth' AND deleted IS NULL`,
		secret, config, database.Micros(now), int64(a.Domain), a.ID)
	return nil
}

// Rotation is the replacement of a signing secret.
type Rotation struct {
	Domain   passerelle.DomainID
	Provider int64
	Secret   string
	// From is the instant of real time from which the new secret signs. Nil means immediately.
	From *time.Time
}

// RotateSecret gives a new secret to a provider that signs. If the change is planned for later and
// an earlier next secret is already in effect, RotateSecret first makes that secret the present
// secret. It drops a next secret that is not yet in effect. The argument `real` is real time, and
// `now` is in the domain's time.
func (tx *Tx) RotateSecret(r Rotation, real, now time.Time) error {
	a := AuthProvider{ID: r.Provider, Domain: r.Domain}
	sealed, err := tx.Seal(a.secretPlace(), []byte(r.Secret))
	if err != nil {
		return fmt.Errorf("seal a secret of authentication provider %d: %w", r.Provider, err)
	}
	const these = ` WHERE domain_id = $1 AND id = $2 AND type = 'hmac_signature' AND deleted IS NULL`
	if r.From == nil {
		tx.unit.ExecOne(ErrNotFound, `UPDATE auth_provider SET secret = $3, next_secret = NULL, next_from = NULL, updated = $4`+these,
			int64(r.Domain), r.Provider, sealed, database.Micros(now))
		return nil
	}
	tx.unit.ExecOne(ErrNotFound, `UPDATE auth_provider SET secret = CASE WHEN next_from <= $5 THEN next_secret ELSE secret END,
		next_secret = $3, next_from = $6, updated = $4`+these,
		int64(r.Domain), r.Provider, sealed, database.Micros(now), database.Micros(real), database.Micros(*r.From))
	return nil
}

// UseAuthProvider prevents the deletion of the provider until the unit ends. A unit that assigns a
// provider to a webhook must call UseAuthProvider. Write fails with ErrNotFound when the provider
// has been deleted.
func (tx *Tx) UseAuthProvider(domain passerelle.DomainID, id int64) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE auth_provider SET name = name WHERE domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), id)
}

// DeleteAuthProvider marks a provider as deleted. From then on, the service sends nothing to the
// webhooks that use the provider: their AuthDeleted is set. Write fails with ErrNotFound when the
// provider does not exist or is deleted.
func (tx *Tx) DeleteAuthProvider(domain passerelle.DomainID, id int64, now time.Time) {
	// The statements below see only data that was committed before they began. UseAuthProvider
	// therefore first waits for units that are assigning the provider to a webhook.
	tx.UseAuthProvider(domain, id)
	tx.unit.Exec(`UPDATE webhook SET auth_deleted = TRUE WHERE domain_id = $1 AND auth_id = $2`, int64(domain), id)
	tx.unit.Exec(`UPDATE auth_provider SET deleted = $1 WHERE domain_id = $2 AND id = $3`, database.Micros(now), int64(domain), id)
}

// DeleteAuthProviders does the same as DeleteAuthProvider for all providers of a domain.
func (tx *Tx) DeleteAuthProviders(domain passerelle.DomainID, now time.Time) {
	tx.unit.Exec(`UPDATE auth_provider SET name = name WHERE domain_id = $1 AND deleted IS NULL`, int64(domain))
	tx.unit.Exec(`UPDATE webhook SET auth_deleted = TRUE WHERE domain_id = $1 AND auth_id IS NOT NULL`, int64(domain))
	tx.unit.Exec(`UPDATE auth_provider SET deleted = $1 WHERE domain_id = $2 AND deleted IS NULL`, database.Micros(now), int64(domain))
}
