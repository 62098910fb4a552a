package console

import (
	"fmt"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/console/page"
	"passerelle/internal/domains"
	"passerelle/internal/operators"
	"passerelle/internal/web"
)

func (c *Console) domainRoutes() []page.Route {
	return []page.Route{
		page.Get("", c.start),
		page.Get("domains", c.domains),
		page.Post("domains", c.createDomain),
		page.Get("domains/#/domain", c.domainPage),
		page.Post("domains/#/domain", c.moveDomain),
		page.SetUp("domains/#/domain/sign-key", c.rotateSignKey),
	}
}

// start redirects to the domain if exactly one exists, and otherwise to the list of domains.
func (c *Console) start(pc *page.Context) error {
	all, err := c.DB.Domains(pc)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	if len(all) == 1 {
		web.Redirect(pc.Writer, fmt.Sprintf("%sdomains/%d", page.Root, all[0].ID))
		return nil
	}
	web.Redirect(pc.Writer, page.Root+"domains")
	return nil
}

// domainsData is the content of the page that lists all domains, with the form for a new domain.
type domainsData struct {
	Rows                []domainRow
	Pager               page.Pager
	Name, Kind, BaseURL string
	MayCreate           bool
}

type domainRow struct {
	ID                  passerelle.DomainID
	Name, Kind, BaseURL string
	Created             page.When
}

func newDomainRow(pc *page.Context, d passerelle.Domain) domainRow {
	return domainRow{d.ID, d.Name, string(d.Kind), d.BaseURL, pc.RealWhen(d.Created)}
}

func (c *Console) domains(pc *page.Context) error {
	all, err := c.DB.Domains(pc)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	data := domainsData{MayCreate: pc.Who.May(operators.SetUp)}
	w := pc.Window(1)
	all = page.Within(w, all, func(d passerelle.Domain) passerelle.DomainID { return d.ID })
	all, data.Pager = page.Paged(pc, w, all, func(d passerelle.Domain) []any { return page.ByID(d.ID) })
	for _, d := range all {
		data.Rows = append(data.Rows, newDomainRow(pc, d))
	}
	if pc.Problem != "" {
		data.Name, data.Kind, data.BaseURL = pc.Field("name"), pc.Field("kind"), pc.Field("base_url")
	}
	return pages.Send(pc, "domains", "Domains", data)
}

// createDomain creates a domain. For a live domain, the operator needs a second factor, as for all
// acts in live domains.
func (c *Console) createDomain(pc *page.Context) error {
	if !pc.Who.May(operators.SetUp) {
		return page.ErrForbidden
	}
	d := passerelle.Domain{
		Name: strings.TrimSpace(pc.Field("name")), Kind: passerelle.DomainKind(pc.Field("kind")), BaseURL: strings.TrimSpace(pc.Field("base_url")), Created: c.Now(),
	}
	if d.Kind == passerelle.Live && !pc.Who.HasSecondFactor() {
		pc.Problem, pc.Wrong = "Kind: only operators who signed in with a second factor can create a live domain", "kind"
		return c.domains(pc)
	}
	err := domains.Create(pc, c.DB, &d, pc.Record(domains.ActCreate, domains.Subject, 0))
	return pc.After(err, "The domain was created.", page.Root+"domains", c.domains)
}

// domainData is the content of a domain's page.
type domainData struct {
	domainRow
	// Keys are the keys that sign API responses, newest first.
	Keys []signKeyRow
	// Moved is set just after the base URL has changed, possibly to another host.
	Moved, MayMove, MayRotate bool
}

// maxSignKeys is the largest number of keys in the page's list.
const maxSignKeys = 10

type signKeyRow struct {
	ID      int64
	Created page.When
}

func (c *Console) domainPage(pc *page.Context) error { return c.showDomain(pc, false) }

func (c *Console) showDomain(pc *page.Context, moved bool) error {
	keys, err := c.DB.SignKeys(pc, pc.Domain.ID, maxSignKeys)
	if err != nil {
		return fmt.Errorf("list the keys for responses of domain %d: %w", pc.Domain.ID, err)
	}
	data := domainData{domainRow: newDomainRow(pc, pc.Domain), Moved: moved, MayMove: pc.Who.May(operators.SetUp) && pc.Certain(), MayRotate: pc.MaySetUp()}
	for _, k := range keys {
		data.Keys = append(data.Keys, signKeyRow{k.ID, pc.RealWhen(k.Created)})
	}
	if pc.Problem != "" {
		data.BaseURL = pc.Field("base_url")
	}
	return pages.Send(pc, "domain", "Domain "+pc.Domain.Name, data)
}

// moveDomain changes the base URL of the domain. The browser stays on this host, because its
// session cookie is valid only here.
func (c *Console) moveDomain(pc *page.Context) error {
	if !pc.Who.May(operators.SetUp) || !pc.Certain() {
		return page.ErrForbidden
	}
	err := domains.Move(pc, c.DB, &pc.Domain, strings.TrimSpace(pc.Field("base_url")), pc.Record(domains.ActMove, domains.Subject, 0))
	if err != nil {
		return pc.After(err, "", "", c.domainPage)
	}
	return c.showDomain(pc, true)
}

// rotateSignKey generates a new key. Signed API responses use this key from now on.
func (c *Console) rotateSignKey(pc *page.Context) error {
	_, err := c.Access.RotateAnswerKey(pc, pc.Domain.ID, pc.Record(access.ActRotateSignKey, domains.Subject, 0))
	return pc.After(err, "Answers are signed with a new key.", pc.Path("/domain"), c.domainPage)
}
