package console

import (
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/desk"
	"passerelle/internal/tenancy"
	"passerelle/internal/web"
)

func (c *Console) domainRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("", c.start),
		desk.Get("domains", c.domains),
		desk.Get("domains/#", c.home),
		desk.Post("domains", c.createDomain),
		desk.Get("domains/#/domain", c.domainPage),
		desk.Post("domains/#/domain", c.moveDomain),
		desk.Post("domains/#/domain/sign-key", c.rotateSignKey),
	}
}

// The acts on domains, as the audit log names them.
const (
	actCreateDomain  = "create domain"
	actMoveDomain    = "move domain"
	actRotateSignKey = "rotate sign key"
)

// start leads to the only domain, or lets the operator choose one.
func (c *Console) start(v *desk.Visit) error {
	all, err := c.DB.Domains(v)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	if len(all) == 1 {
		web.Redirect(v.Writer, fmt.Sprintf("%sdomains/%d", desk.Root, all[0].ID))
		return nil
	}
	web.Redirect(v.Writer, desk.Root+"domains")
	return nil
}

// domainsData is the domains of the deployment, and the form for another.
type domainsData struct {
	Rows                []domainRow
	Turn                desk.Turn
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

func (c *Console) domains(v *desk.Visit) error {
	all, err := c.DB.Domains(v)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	data := domainsData{MayCreate: v.Who.May(admission.SetUp)}
	w := v.Window(1)
	all = desk.Within(w, all, func(d passerelle.Domain) passerelle.DomainID { return d.ID })
	all, data.Turn = desk.Paged(v, w, all, func(d passerelle.Domain) []any { return desk.ByID(d.ID) })
	for _, d := range all {
		data.Rows = append(data.Rows, newDomainRow(d))
	}
	if v.Problem != "" {
		data.Name, data.Kind, data.BaseURL = v.Field("name"), v.Field("kind"), v.Field("base_url")
	}
	return pages.Send(v, "domains", "Domains", data)
}

// createDomain makes a domain; a live one wants a second factor from its maker, as
// every act in it will.
func (c *Console) createDomain(v *desk.Visit) error {
	if !v.Who.May(admission.SetUp) {
		return desk.ErrForbidden
	}
	d := passerelle.Domain{
		Name: strings.TrimSpace(v.Field("name")), Kind: passerelle.DomainKind(v.Field("kind")), BaseURL: strings.TrimSpace(v.Field("base_url")), Created: c.Now(),
	}
	if d.Kind == passerelle.Live && !v.Who.Twice() {
		v.Problem = "kind: a live domain is made by who signed in with a second factor"
		return c.domains(v)
	}
	err := tenancy.Create(v, c.DB, &d, v.Record(actCreateDomain, "domain", 0))
	return v.After(err, desk.Root+"domains", c.domains)
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

func (c *Console) domainPage(v *desk.Visit) error { return c.showDomain(v, false) }

func (c *Console) showDomain(v *desk.Visit, moved bool) error {
	keys, err := c.DB.SignKeys(v, v.Domain.ID, maxSignKeys)
	if err != nil {
		return fmt.Errorf("list the keys for answers of domain %d: %w", v.Domain.ID, err)
	}
	setUp(v, "Domain")
	data := domainData{domainRow: newDomainRow(v.Domain), Moved: moved, MayMove: v.Who.May(admission.SetUp) && v.Certain(), MayRotate: v.MaySetUp()}
	for _, k := range keys {
		data.Keys = append(data.Keys, signKeyRow{k.ID, v.Moment(&k.Created)})
	}
	if v.Problem != "" {
		data.BaseURL = v.Field("base_url")
	}
	return pages.Send(v, "domain", "Domain "+v.Domain.Name, data)
}

// moveDomain gives the domain another base URL. The browser stays where it is: its
// session is known at this host alone.
func (c *Console) moveDomain(v *desk.Visit) error {
	if !v.Who.May(admission.SetUp) || !v.Certain() {
		return desk.ErrForbidden
	}
	err := tenancy.Move(v, c.DB, &v.Domain, strings.TrimSpace(v.Field("base_url")), v.Record(actMoveDomain, "domain", int64(v.Domain.ID)))
	if err != nil {
		return v.After(err, "", c.domainPage)
	}
	return c.showDomain(v, true)
}

// rotateSignKey has answers signed with a new key from now on.
func (c *Console) rotateSignKey(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	_, err := c.Access.RotateAnswerKey(v, v.Domain.ID, v.Record(actRotateSignKey, "domain", int64(v.Domain.ID)))
	return v.After(err, v.Path("/domain"), c.domainPage)
}
