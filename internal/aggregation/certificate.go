package aggregation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/certificate"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// maxCertified limits the accounts in a certificate.
const maxCertified = 200

// Certificate returns a PDF that certifies who owns the payment accounts that the user shares from
// a connection. The argument zone is the time zone of the times in the PDF. Each call creates the
// certificate from stored data. The service does not store the certificate. Certificate fails with
// Conflict when the domain offers no certificates, or when no payment account is shared.
func (a *Aggregation) Certificate(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, zone *time.Location) ([]byte, error) {
	c, err := a.Connection(ctx, d, user, connection)
	if err != nil {
		return nil, err
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	if !values.On(settings.OwnerCertificate) {
		return nil, passerelle.Conflicting("this domain has no certificates of account ownership; the configuration key " + settings.OwnerCertificate + " switches them on")
	}
	made := certificate.Certificate{Institution: a.institution(c), Made: a.now(d).In(zone)}
	if made.Accounts, err = a.certified(ctx, d, c, zone); err != nil {
		return nil, err
	}
	if len(made.Accounts) == 0 {
		return nil, &passerelle.Error{Kind: passerelle.Conflict, Code: "noAccount", Message: "No payment account of this connection is enabled; enable one before you request a certificate."}
	}
	var page bytes.Buffer
	if err := made.Write(&page); err != nil {
		return nil, fmt.Errorf("write a certificate for connection %d: %w", c.ID, err)
	}
	return page.Bytes(), nil
}

func (a *Aggregation) institution(c bankstore.Connection) string {
	reader, known := a.Connectors.DataReader(c.Connector)
	if !known {
		return ""
	}
	return reader.Profile().Name
}

// certified returns the shared payment accounts of a connection.
func (a *Aggregation) certified(ctx context.Context, d passerelle.Domain, c bankstore.Connection, zone *time.Location) ([]certificate.CertifiedAccount, error) {
	all, err := bankstore.From(a.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: d.ID, User: c.User, Connection: c.ID}, store.Window{Limit: maxAccounts})
	if err != nil {
		return nil, fmt.Errorf("list the accounts of connection %d: %w", c.ID, err)
	}
	supplied, err := bankstore.From(a.DB).ConsentTimes(ctx, d.ID, c.ID)
	if err != nil {
		return nil, fmt.Errorf("list the consents of connection %d: %w", c.ID, err)
	}
	var certified []certificate.CertifiedAccount
	for _, account := range all {
		if !account.Type.Payment() || len(certified) == maxCertified {
			continue
		}
		one := certificate.CertifiedAccount{
			Name: cmp.Or(account.CustomName, account.Name), Currency: string(account.Currency), IBAN: account.IBAN, BIC: account.BIC, Number: account.Number,
			Consent: supplied[account.ID].In(zone),
		}
		for _, p := range account.Parties {
			one.Holders = append(one.Holders, certificate.Holder{Name: p.FullName, Role: p.Role})
		}
		certified = append(certified, one)
	}
	return certified, nil
}
