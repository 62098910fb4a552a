package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/audit"
	"passerelle/internal/console/page"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

func (c *Console) auditRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/audit", c.audit),
		page.Post("domains/#/audit", c.verifyAudit),
	}
}

// auditTimeout is the longest time for which a page reads the chain of a domain. The command "audit
// verify" can read a longer chain.
const auditTimeout = 20 * time.Second

// maxOperators is the largest number of operators in the page's list.
const maxOperators = 1000

// auditData is the content of a page of the audit log, with the state of the log's chain.
type auditData struct {
	Operators                      []operatorOption
	Operator                       store.OperatorID
	Act, Subject, ID, Since, Until string
	Refused                        bool
	// Selected is set when the page shows only some of the acts.
	Selected bool
	// Deployment is set for acts that belong to no domain, such as sign-ins.
	Deployment  bool
	Chain       []page.DetailRow
	Result, Why string
	Rows        []actRow
	Pager       page.Pager
	shown       map[store.OperatorID]string
}

type operatorOption struct {
	ID   store.OperatorID
	Name string
}

// actRow is an act. Address is the page of the act's subject, or empty.
type actRow struct {
	ID                                 int64
	At                                 page.When
	By, Act, Subject, Address, Request string
	Refused                            bool
	// Number is the act's position in the chain. It is zero for an act that is not in the chain
	// yet.
	Number int64
}

// audit lists the acts that the address selects, newest first.
func (c *Console) audit(pc *page.Context) error { return c.showAudit(pc, auditData{}) }

func (c *Console) showAudit(pc *page.Context, data auditData) error {
	f, err := c.auditFilter(pc, &data)
	if err == nil {
		err = c.addChain(pc, &data)
	}
	if pc.Reports(err) {
		return pages.Send(pc, "audit", "Audit log", data)
	}
	if err != nil {
		return err
	}
	w := pc.Window(2)
	rows, err := operatorstore.From(c.DB).Audits(pc, f, w)
	if err != nil {
		return fmt.Errorf("list the acts in domain %d: %w", pc.Domain.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(a operatorstore.AuditLink) []any { return a.Place() })
	for _, a := range rows {
		data.Rows = append(data.Rows, newActRow(pc, a, data.shown))
	}
	return pages.Send(pc, "audit", "Audit log", data)
}

// ofDeployment reports whether the address requests acts that belong to no domain.
func ofDeployment(pc *page.Context) bool { return pc.Request.URL.Query().Get("of") == "deployment" }

// chainOf returns the domain of the chain that the page shows. Acts that belong to no domain have a
// chain of their own.
func chainOf(pc *page.Context) passerelle.DomainID {
	if ofDeployment(pc) {
		return 0
	}
	return pc.Domain.ID
}

// auditFilter reads the filter in the address.
func (c *Console) auditFilter(pc *page.Context, data *auditData) (operatorstore.AuditFilter, error) {
	f := operatorstore.AuditFilter{Domain: pc.Domain.ID}
	all, err := operatorstore.From(c.DB).Operators(pc, maxOperators)
	if err != nil {
		return f, fmt.Errorf("list the operators: %w", err)
	}
	data.shown = map[store.OperatorID]string{}
	for _, o := range all {
		data.shown[o.ID] = o.Name
		data.Operators = append(data.Operators, operatorOption{o.ID, o.Name})
	}
	query := pc.Request.URL.Query()
	if data.Deployment = ofDeployment(pc); data.Deployment {
		f.Domain, f.NoDomain = 0, true
	}
	supplied := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	data.Act, data.Subject, data.ID, data.Refused = supplied("act"), supplied("subject"), supplied("id"), supplied("refused") == "1"
	data.Since, data.Until = supplied("since"), supplied("until")
	f.Act, f.Subject, f.Refused = data.Act, data.Subject, data.Refused
	data.Selected = data.Deployment || data.Refused || data.Act+data.Subject+data.ID+data.Since+data.Until+supplied("operator") != ""
	if f.Operator, err = page.ParseID[store.OperatorID]("Operator", supplied("operator")); err != nil {
		return f, err
	}
	data.Operator = f.Operator
	if f.SubjectID, err = page.ParseID[int64]("Subject number", data.ID); err != nil {
		return f, err
	}
	err = auditDays(pc, data, &f)
	return f, err
}

func auditDays(pc *page.Context, data *auditData, f *operatorstore.AuditFilter) error {
	var err error
	if data.Since != "" {
		if f.From, err = page.DayStart("From", data.Since, pc.Zone, 0); err != nil {
			return err
		}
	}
	if data.Until != "" {
		if f.Until, err = page.DayStart("To", data.Until, pc.Zone, 1); err != nil {
			return err
		}
	}
	return page.CheckDays("To", f.From, f.Until)
}

// addChain adds the state of the shown chain.
func (c *Console) addChain(pc *page.Context, data *auditData) error {
	end, err := operatorstore.From(c.DB).AuditEnd(pc, chainOf(pc))
	if err != nil {
		return fmt.Errorf("read the end of a chain: %w", err)
	}
	waiting, err := operatorstore.From(c.DB).CountUnchainedAudit(pc, chainOf(pc), audit.MaxWaiting)
	if err != nil {
		return fmt.Errorf("count the acts without a place: %w", err)
	}
	var last string
	if end.Number > 0 {
		last = audit.Checkpoint{Number: end.Number, Hash: end.Hash}.String()
	}
	data.Chain = page.Details("Entries in the chain", strconv.FormatInt(end.Number, 10), "Entries not yet in the chain", page.UpTo(waiting, audit.MaxWaiting), "Checkpoint", last)
	return nil
}

// verifyAudit reads the complete chain, within auditTimeout. It shows whether the chain is intact.
func (c *Console) verifyAudit(pc *page.Context) error {
	ctx, cancel := context.WithTimeout(pc, auditTimeout)
	defer cancel()
	found, err := audit.Verify(ctx, &c.DB.Reader, chainOf(pc), nil, func(int64) {})
	data := auditData{Result: "intact"}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		data.Result, data.Why = "too long to be checked here", "Check it on the command line: passerelle audit verify --domain "+pc.Domain.Name
	case err != nil:
		return err
	case !found.Intact():
		data.Result, data.Why = "broken", fmt.Sprintf("Act %d: %s.", found.Broken, found.Why)
	default:
		data.Why = fmt.Sprintf("All %d entries are unchanged and in their original order.", found.Last.Number)
	}
	return c.showAudit(pc, data)
}

// subjectPaths maps kinds of subjects to the paths of their pages.
var subjectPaths = map[string]string{
	"payment": "/payments/%d", "user": "/users/%d", "webhook": "/webhooks/%d", "client": "/clients/%d", "token": "/tokens?id=%d",
}

func newActRow(pc *page.Context, a operatorstore.AuditLink, names map[store.OperatorID]string) actRow {
	row := actRow{ID: a.ID, At: pc.RealWhen(a.At), Act: a.Act, Subject: a.Subject, Request: a.Request, Refused: a.Refused, Number: a.Number, By: "a command"}
	switch {
	case a.Operator != 0:
		row.By = cmp.Or(names[a.Operator], fmt.Sprint(int64(a.Operator)))
	case a.Request != "":
		row.By = "a request"
	case a.Refused:
		row.By = "unknown names"
	}
	if a.SubjectID == 0 {
		return row
	}
	row.Subject = fmt.Sprintf("%s %d", a.Subject, a.SubjectID)
	if path := subjectPaths[a.Subject]; path != "" {
		row.Address = pc.Path(path, a.SubjectID)
	}
	if a.Subject == "domain" {
		row.Address = fmt.Sprintf("%sdomains/%d/domain", page.Root, a.SubjectID)
	}
	return row
}
