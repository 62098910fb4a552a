// Package domains creates domains and changes their base URLs.
//
// The package owns the rules for names and base URLs, and the host that identifies the requests of
// a domain. It does not own the content of a domain. Package service finds the domain of a request.
//
// For an unusable name or base URL, the package fails with Invalid and names the field. It fails
// with Conflict when another domain already has the name or base URL.
package domains

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"passerelle"
	"passerelle/internal/store"
)

// The audit log has these names for acts on domains, and for their subject.
const (
	ActCreate = "create domain"
	ActMove   = "move domain"

	Subject = "domain"
)

// maxName is the largest number of characters in a domain's name.
const maxName = 255

// Create creates a domain and sets its id. The same transaction adds the operator's acts to the
// audit log.
func Create(ctx context.Context, db *store.DB, d *passerelle.Domain, acts ...store.Audit) error {
	if strings.TrimSpace(d.Name) == "" {
		return passerelle.InvalidField("name", "must not be empty")
	}
	if err := passerelle.CheckLine("name", d.Name, maxName); err != nil {
		return err
	}
	if d.Kind != passerelle.Sandbox && d.Kind != passerelle.Live {
		return passerelle.InvalidField("kind", "must be %s or %s", passerelle.Sandbox, passerelle.Live)
	}
	host, err := HostOf(d.Kind, d.BaseURL)
	if err != nil {
		return err
	}
	err = db.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.CreateDomain(d, host), tx.AuditOf(int64(d.ID), acts...))
	})
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, store.ErrDuplicate):
		return fmt.Errorf("create a domain: %w", err)
	}
	if _, err := db.DomainByName(ctx, d.Name); err == nil {
		return taken("name", "another domain is called %s", d.Name)
	}
	return taken("base_url", "another domain has the host %s", host)
}

// Move changes the base URL of a domain. Requests for the old host then find no domain. The same
// transaction adds the operator's acts to the audit log.
func Move(ctx context.Context, db *store.DB, d *passerelle.Domain, baseURL string, acts ...store.Audit) error {
	host, err := HostOf(d.Kind, baseURL)
	if err != nil {
		return err
	}
	err = db.Write(ctx, func(tx *store.Tx) error {
		tx.MoveDomain(d.ID, host, baseURL)
		return tx.AuditOf(int64(d.ID), acts...)
	})
	switch {
	case errors.Is(err, store.ErrDuplicate):
		return taken("base_url", "another domain has the host %s", host)
	case err != nil:
		return fmt.Errorf("move domain %d: %w", d.ID, err)
	}
	d.BaseURL = baseURL
	return nil
}

// taken returns the error for a value that another domain already has.
func taken(field, format string, args ...any) error {
	conflict := passerelle.Conflicting("%s: %s", field, fmt.Sprintf(format, args...))
	conflict.Field = field
	return conflict
}

// HostOf checks the base URL of a domain, which must be {scheme}://{host}/2.0. HostOf returns the
// host that identifies the domain's requests. The scheme must be https for a live domain, except on
// this machine.
func HostOf(kind passerelle.DomainKind, baseURL string) (string, error) {
	const field = "base_url"
	u, err := url.Parse(baseURL)
	if err != nil || baseURL != u.Scheme+"://"+u.Host+"/2.0" {
		return "", passerelle.InvalidField(field, "must be an address such as https://bank.example/2.0, not %q", baseURL)
	}
	if _, err := passerelle.ParseReturnURL(field, baseURL); err != nil {
		return "", err
	}
	if u.Port() != "" && u.Port() == DefaultPorts[u.Scheme] {
		return "", passerelle.InvalidField(field, "must not name port %s, which is the default for %s", u.Port(), u.Scheme)
	}
	if kind == passerelle.Live && u.Scheme != "https" && !Loopback(u.Host) {
		return "", passerelle.InvalidField(field, "must begin with https:// for a live domain")
	}
	return strings.ToLower(u.Host), nil
}

// DefaultPorts maps a scheme to the port that clients omit from addresses. Such an address has only
// the host.
var DefaultPorts = map[string]string{"http": "80", "https": "443"}

// Loopback reports whether a host is this machine. The host is a name or an address, with or
// without a port. Loopback does not resolve names by DNS.
func Loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || (ip != nil && ip.IsLoopback())
}
