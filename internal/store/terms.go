package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Terms are one version of a domain's terms of service.
type Terms struct {
	ID      int64
	Domain  passerelle.DomainID
	Version string
	// Content is the text by language, such as "en".
	Content map[string]string
	Created time.Time
	// Deleted is the time at which the next version replaced this one.
	Deleted *time.Time
}

// PublishTerms puts a new version into force. It replaces the present version. Write fails with
// ErrDuplicate when the domain already had this version.
func (tx *Tx) PublishTerms(t *Terms) error {
	var err error
	if t.ID, err = tx.unit.NewID("terms"); err != nil {
		return err
	}
	tx.HoldSettings(t.Domain) // a concurrent publication waits, and replaces this version
	tx.unit.Exec(`UPDATE terms SET deleted = $1 WHERE domain_id = $2 AND deleted IS NULL`, database.Micros(t.Created), int64(t.Domain))
	tx.unit.ExecOne(ErrConflict, `INSERT INTO terms (id, domain_id, version, created) VALUES ($1, $2, $3, $4)`,
		t.ID, int64(t.Domain), t.Version, database.Micros(t.Created))
	for _, language := range slices.Sorted(maps.Keys(t.Content)) {
		tx.unit.ExecOne(ErrConflict, `INSERT INTO terms_text (terms_id, language, content) VALUES ($1, $2, $3)`, t.ID, language, t.Content[language])
	}
	return nil
}

// CurrentTerms returns the terms in force. It fails with ErrNotFound when the domain has no terms.
func (r *Reader) CurrentTerms(ctx context.Context, domain passerelle.DomainID) (Terms, error) {
	return r.terms(ctx, `domain_id = $1 AND deleted IS NULL`, int64(domain))
}

// TermsOfVersion returns a version of the terms. It fails with ErrNotFound when the version does
// not exist.
func (r *Reader) TermsOfVersion(ctx context.Context, domain passerelle.DomainID, version string) (Terms, error) {
	return r.terms(ctx, `domain_id = $1 AND version = $2`, int64(domain), version)
}

func (r *Reader) terms(ctx context.Context, which string, args ...any) (Terms, error) {
	t, err := database.One(ctx, r.rows, func(row database.Row) (Terms, error) {
		var (
			t       Terms
			created int64
			deleted *int64
		)
		err := row.Scan(&t.ID, &t.Domain, &t.Version, &created, &deleted)
		t.Created, t.Deleted = database.Instant(created), database.OptionalInstant(deleted)
		return t, err
	}, `SELECT id, domain_id, version, created, deleted FROM terms WHERE `+which, args...)
	if err != nil {
		return t, err
	}
	t.Content = map[string]string{}
	_, err = database.Collect(ctx, r.rows, func(row database.Row) (struct{}, error) {
		var language, content string
		err := row.Scan(&language, &content)
		t.Content[language] = content
		return struct{}{}, err
	}, `SELECT language, content FROM terms_text WHERE terms_id = $1`, t.ID)
	if err != nil {
		return t, fmt.Errorf("load the text of terms %d: %w", t.ID, err)
	}
	return t, nil
}
