package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/tenancy"
	"passerelle/internal/web"
)

var domainRoutes = []route{
	{http.MethodGet, "domains", (*Console).domains, false},
	{http.MethodPost, "domains", (*Console).createDomain, false},
	{http.MethodGet, "domains/#/domain", (*Console).domainPage, false},
	{http.MethodPost, "domains/#/domain", (*Console).moveDomain, false},
	{http.MethodPost, "domains/#/domain/sign-key", (*Console).rotateSignKey, false},
}

// The acts on domains, as the audit log names them.
const (
	actCreateDomain  = "create domain"
	actMoveDomain    = "move domain"
	actRotateSignKey = "rotate sign key"
)

// start leads to the only domain, or lets the operator choose one.
func (c *Console) start(v *visit) error {
	all, err := c.DB.Domains(v)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	if len(all) == 1 {
		web.Redirect(v.writer, fmt.Sprintf("%sdomains/%d", Root, all[0].ID))
		return nil
	}
	web.Redirect(v.writer, Root+"domains")
	return nil
}

// domainsData is the domains of the deployment, and the form for another.
type domainsData struct {
	Rows                []domainRow
	Name, Kind, BaseURL string
	MayCreate           bool
}

type domainRow struct {
	ID                           passerelle.DomainID
	Name, Kind, BaseURL, Created string
}

// newDomainRow has times in UTC: each domain has a zone of its own.
func newDomainRow(d passerelle.Domain) domainRow {
	return domainRow{d.ID, d.Name, string(d.Kind), d.BaseURL, passerelle.FormatDateTime(d.Created, time.UTC)}
}

func (c *Console) domains(v *visit) error {
	all, err := c.DB.Domains(v)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	data := domainsData{MayCreate: v.who.May(admission.SetUp)}
	for _, d := range all {
		data.Rows = append(data.Rows, newDomainRow(d))
	}
	if v.problem != "" {
		data.Name, data.Kind, data.BaseURL = v.field("name"), v.field("kind"), v.field("base_url")
	}
	return c.send(v, "domains", "Domains", data)
}

// createDomain makes a domain; a live one wants a second factor from its maker, as
// every act in it will.
func (c *Console) createDomain(v *visit) error {
	if !v.who.May(admission.SetUp) {
		return errForbidden
	}
	d := passerelle.Domain{
		Name: strings.TrimSpace(v.field("name")), Kind: passerelle.DomainKind(v.field("kind")), BaseURL: strings.TrimSpace(v.field("base_url")), Created: c.Now(),
	}
	if d.Kind == passerelle.Live && !v.who.Twice() {
		v.problem = "kind: a live domain is made by who signed in with a second factor"
		return c.domains(v)
	}
	err := tenancy.Create(v, c.DB, &d, c.record(v, actCreateDomain, "domain", 0))
	return c.after(v, err, Root+"domains", (*Console).domains)
}

// domainData is one domain.
type domainData struct {
	domainRow
	// Keys sign answers, the newest first.
	Keys []signKeyRow
	// Moved is set when the domain has just moved, perhaps away from this host.
	Moved, MayMove, MayRotate bool
}

// maxSignKeys is how many keys are listed.
const maxSignKeys = 10

type signKeyRow struct {
	ID      int64
	Created string
}

func (c *Console) domainPage(v *visit) error { return c.showDomain(v, false) }

func (c *Console) showDomain(v *visit, moved bool) error {
	keys, err := c.DB.SignKeys(v, v.domain.ID, maxSignKeys)
	if err != nil {
		return fmt.Errorf("list the keys for answers of domain %d: %w", v.domain.ID, err)
	}
	v.setUp("Domain")
	data := domainData{domainRow: newDomainRow(v.domain), Moved: moved, MayMove: v.who.May(admission.SetUp) && v.certain(), MayRotate: v.maySetUp()}
	for _, k := range keys {
		data.Keys = append(data.Keys, signKeyRow{k.ID, v.moment(&k.Created)})
	}
	if v.problem != "" {
		data.BaseURL = v.field("base_url")
	}
	return c.send(v, "domain", "Domain "+v.domain.Name, data)
}

// moveDomain gives the domain another base URL. The browser stays where it is: its
// session is known at this host alone.
func (c *Console) moveDomain(v *visit) error {
	if !v.who.May(admission.SetUp) || !v.certain() {
		return errForbidden
	}
	err := tenancy.Move(v, c.DB, &v.domain, strings.TrimSpace(v.field("base_url")), c.record(v, actMoveDomain, "domain", int64(v.domain.ID)))
	if err != nil {
		return c.after(v, err, "", (*Console).domainPage)
	}
	return c.showDomain(v, true)
}

// rotateSignKey has answers signed with a new key from now on.
func (c *Console) rotateSignKey(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	_, err := c.Access.RotateAnswerKey(v, v.domain.ID, c.record(v, actRotateSignKey, "domain", int64(v.domain.ID)))
	return c.after(v, err, v.path("/domain"), (*Console).domainPage)
}
