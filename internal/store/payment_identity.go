package store

import (
	"context"
	"encoding/json"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/payment"
)

// noLine is the position of an identity that belongs to the whole payment.
const noLine = -1

// plainIdentity is the part of an identity that everyone with access to the payment can see.
// sealedIdentity is the sensitive part. Its field BirthDate hides Sensitive.BirthDate in the JSON
// object, because the date is stored as text.
type plainIdentity struct {
	Kind           passerelle.IdentityKind
	ExternalRef    string
	OrgName        string
	OrgLegalStatus string
}

type sealedIdentity struct {
	passerelle.Sensitive
	BirthDate string
}

type identityRow struct {
	id      int64
	payment passerelle.PaymentID
	role    string
	line    int
	user    *int64
	plain   string
	sealed  []byte
}

func identityPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment_identity", Column: "sensitive", Row: id}
}

func (tx *Tx) insertIdentities(p *payment.Payment) error {
	if err := tx.insertIdentity(p, "payer", noLine, p.PayerIdentity); err != nil {
		return err
	}
	if err := tx.insertIdentity(p, "operator", noLine, p.OperatorIdentity); err != nil {
		return err
	}
	for line, in := range p.Instructions {
		if err := tx.insertIdentity(p, "beneficiary", line, in.BeneficiaryIdentity); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) insertIdentity(p *payment.Payment, role string, line int, identity *passerelle.Identity) error {
	if identity == nil {
		return nil
	}
	id, err := tx.unit.NewID("payment_identity")
	if err != nil {
		return err
	}
	plain, err := json.Marshal(plainIdentity{identity.Kind, identity.ExternalRef, identity.OrgName, identity.OrgLegalStatus})
	if err != nil {
		return fmt.Errorf("encode an identity: %w", err)
	}
	sealed, err := tx.sealIdentity(p.Domain, id, identity.Sensitive)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO payment_identity (id, payment_id, domain_id, role, line, user_id, plain, sensitive) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, int64(p.ID), int64(p.Domain), role, line, database.OptionalID(identity.IDUser), string(plain), sealed)
	return nil
}

func (tx *Tx) sealIdentity(domain passerelle.DomainID, id int64, s *passerelle.Sensitive) ([]byte, error) {
	var secret *sealedIdentity // sealed even when empty, because the absence of data is also confidential
	if s != nil {
		secret = &sealedIdentity{*s, s.BirthDate.String()}
	}
	sealed, err := tx.sealJSON(identityPlace(domain, id), secret)
	if err != nil {
		return nil, fmt.Errorf("seal the sensitive part of an identity: %w", err)
	}
	return sealed, nil
}

// loadIdentities loads the identities of a page of payments. It reads the sealed column only when
// the sensitive part is requested.
func (r *Reader) loadIdentities(ctx context.Context, domain passerelle.DomainID, page []*storedPayment, sensitive bool) error {
	list, args := idList(domain, idsOf(page))
	column := "NULL"
	if sensitive {
		column = "sensitive"
	}
	rows, err := database.Collect(ctx, r.rows, func(row database.Row) (identityRow, error) {
		var i identityRow
		err := row.Scan(&i.id, &i.payment, &i.role, &i.line, &i.user, &i.plain, &i.sealed)
		return i, err
	}, `SELECT id, payment_id, role, line, user_id, plain, `+column+` FROM payment_identity WHERE +domain_id = $1 AND payment_id IN (`+list+`)`, args...)
	if err != nil {
		return fmt.Errorf("load identities: %w", err)
	}
	byID := index(page)
	for _, row := range rows {
		identity, err := r.readIdentity(domain, row)
		if err != nil {
			return fmt.Errorf("read identity %d: %w", row.id, err)
		}
		putIdentity(byID[row.payment], row, identity)
	}
	return nil
}

func putIdentity(p *storedPayment, row identityRow, identity *passerelle.Identity) {
	switch row.role {
	case "payer":
		p.PayerIdentity = identity
	case "operator":
		p.OperatorIdentity = identity
	default:
		// An instruction is missing if its query failed, or if the payment changed between the
		// queries. The caller then fails or reads again.
		if row.line < len(p.Instructions) {
			p.Instructions[row.line].BeneficiaryIdentity = identity
		}
	}
}

func (r *Reader) readIdentity(domain passerelle.DomainID, row identityRow) (*passerelle.Identity, error) {
	var plain plainIdentity
	if err := json.Unmarshal([]byte(row.plain), &plain); err != nil {
		return nil, err
	}
	identity := &passerelle.Identity{IDUser: database.ID[passerelle.UserID](row.user), Kind: plain.Kind, ExternalRef: plain.ExternalRef, OrgName: plain.OrgName, OrgLegalStatus: plain.OrgLegalStatus}
	if row.sealed == nil {
		return identity, nil
	}
	var err error
	identity.Sensitive, err = r.openIdentity(domain, row)
	return identity, err
}

func (r *Reader) openIdentity(domain passerelle.DomainID, row identityRow) (*passerelle.Sensitive, error) {
	raw, err := r.keys.Open(identityPlace(domain, row.id), row.sealed)
	if err != nil {
		return nil, err
	}
	var secret *sealedIdentity
	if err := json.Unmarshal(raw, &secret); err != nil || secret == nil {
		return nil, err
	}
	if secret.BirthDate != "" {
		secret.Sensitive.BirthDate, err = passerelle.ParseDate("birth_date", secret.BirthDate)
	}
	return &secret.Sensitive, err
}
