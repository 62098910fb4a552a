package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/audit"
	"passerelle/internal/bankstore"
	"passerelle/internal/delivery"
	"passerelle/internal/operatorstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

type doctorCommand struct {
	databaseFlag
	KeyFile    string `placeholder:"FILE" type:"path" help:"Key file to check against the database."`
	Invariants bool   `help:"Check all stored data for violated rules. This only reads; its duration grows with the amount of data."`
	bankFolder
	outbound
}

// finding is one result of the command doctor: the check, whether it succeeded, and an explanation
// or remedy.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
}

// These are the results of checks.
const (
	fine  = "fine"
	wrong = "wrong"
)

// errChecksFailed means that a check failed.
var errChecksFailed = errors.New("some checks failed")

// Run makes the checks and prints the findings. It fails when any check fails.
func (d *doctorCommand) Run(c *console) error {
	open, err := d.networks()
	if err != nil {
		return err
	}
	if err := d.exists(); err != nil {
		return err
	}
	findings, err := d.examine(c, delivery.Outbound{Networks: open, Ports: d.AllowPorts})
	if err != nil {
		return err
	}
	return c.printFindings(append(findings, d.bankFolder.findings(time.Now())...))
}

// printFindings prints all findings. It fails when any check failed. After an interruption, it
// prints no findings, because the interruption made the checks fail.
func (c *console) printFindings(findings []finding) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.show(findings); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Result == wrong }) {
		return errChecksFailed
	}
	return nil
}

func (d *doctorCommand) examine(c *console, rules delivery.Outbound) ([]finding, error) {
	options := store.Options{Log: c.log}
	if d.KeyFile != "" {
		ring, err := openKeys(d.KeyFile)
		if err != nil {
			return nil, err
		}
		options.Keys = ring
	}
	db, err := store.Open(c.ctx, d.Database, options)
	if err != nil {
		return nil, err
	}
	findings := []finding{d.reach(c, db)}
	if findings[0].Result == fine {
		findings = append(findings, d.schema(c, db))
	}
	if len(findings) > 1 && findings[1].Result == fine {
		findings = append(findings, d.rest(c, db, rules)...)
	}
	return findings, db.Close()
}

// newFinding returns the finding of a check that failed with err, or succeeded if err is nil. The
// detail is for a check that succeeded.
func newFinding(check string, err error, detail string) finding {
	if err != nil {
		return finding{check, wrong, err.Error()}
	}
	return finding{check, fine, detail}
}

func (d *doctorCommand) reach(c *console, db *store.DB) finding {
	about, err := db.Database.About(c.ctx)
	return newFinding("database", err, about)
}

func (d *doctorCommand) schema(c *console, db *store.DB) finding {
	return newFinding("schema", db.Database.SchemaCurrent(c.ctx), "up to date")
}

// rest returns the findings of the checks that need the schema.
func (d *doctorCommand) rest(c *console, db *store.DB, rules delivery.Outbound) []finding {
	findings := []finding{d.keys(c, db), d.clock(c, db), receivers(c, db, rules)}
	for _, examine := range []func(*console, *store.DB) (finding, bool){consents, unusable} {
		if trouble, some := examine(c, db); some {
			findings = append(findings, trouble)
		}
	}
	if !d.Invariants {
		return findings
	}
	behind, err := db.SequencesBehind(c.ctx)
	if len(behind) > 0 {
		err = fmt.Errorf("these sequences would assign ids that are already used: %s", strings.Join(behind, ", "))
	}
	findings = append(findings, newFinding("sequences", err, "ahead of every id"), newFinding("file", db.Database.CheckFile(c.ctx), "intact, with valid references"))
	return append(append(findings, d.invariants(c, db)...), chains(c, db))
}

// chains verifies the complete audit log.
func chains(c *console, db *store.DB) finding {
	all, err := operatorstore.From(db).AuditChains(c.ctx)
	var broken []error
	for _, chain := range all {
		v, err := audit.Verify(c.ctx, &db.Reader, chain, nil, func(int64) {})
		if err == nil && !v.Intact() {
			err = fmt.Errorf("chain %d at act %d: %s", chain, v.Broken, v.Why)
		}
		broken = append(broken, err)
	}
	return newFinding("audit log", errors.Join(append(broken, err)...), "unchanged, in every chain")
}

func (d *doctorCommand) keys(c *console, db *store.DB) finding {
	if d.KeyFile == "" {
		return finding{"keys", fine, "not checked: name the key file with --key-file"}
	}
	err := db.CheckKeys(c.ctx)
	if errors.Is(err, store.ErrNotFound) {
		return finding{"keys", fine, "the database does not depend on a key file yet"}
	}
	return newFinding("keys", err, "they match the database")
}

// maxSkew is the largest allowed difference between the clock of the machine and the clock of the
// database. Leases use the database's clock, but the times that people see come from the machine's
// clock.
const maxSkew = 2 * time.Second

func (d *doctorCommand) clock(c *console, db *store.DB) finding {
	before := time.Now()
	there, err := db.Database.Clock(c.ctx)
	if err != nil {
		return newFinding("clock", err, "")
	}
	// The database read its clock at some time between the query and its response.
	skew := max(before.Sub(there), time.Until(there), 0)
	if skew > maxSkew {
		err = fmt.Errorf("the database's clock differs from this machine's by %v; synchronise both with a time server", skew.Round(time.Millisecond))
	}
	return newFinding("clock", err, "the database's agrees with this machine's")
}

// failedOften is the number of failed tries after which doctor reports a consent. These tries take
// some hours.
const failedOften = 10

// consents reports consents that the service could not end in failedOften tries. It returns false
// when there is nothing to report.
func consents(c *console, db *store.DB) (finding, bool) {
	domains, err := db.Domains(c.ctx)
	var late []string
	for _, domain := range domains {
		failing, failed := bankstore.From(db).TerminationsFailing(c.ctx, domain.ID, failedOften)
		if err = errors.Join(err, failed); failing > 0 {
			late = append(late, fmt.Sprintf("%s: %d", domain.Name, failing))
		}
	}
	if len(late) > 0 {
		err = errors.Join(err, fmt.Errorf("banks have not ended the consents of deleted connections, %s; the log names the connections and the banks' responses", strings.Join(late, ", ")))
	}
	return newFinding("consents", err, ""), err != nil
}

// unusable reports stored settings that do not count. The service uses the defaults of these keys,
// and only the valid words of lists. It returns false when there is nothing to report.
func unusable(c *console, db *store.DB) (finding, bool) {
	domains, err := db.Domains(c.ctx)
	all := []error{err}
	for _, domain := range domains {
		values, err := settings.Load(c.ctx, &db.Reader, domain.ID)
		all = append(all, err)
		for _, invalid := range values.Invalid() {
			all = append(all, fmt.Errorf("%s: %w; the default counts instead, or the valid words of a list", domain.Name, invalid))
		}
	}
	err = errors.Join(all...)
	return newFinding("settings", err, ""), err != nil
}

// receivers checks that the outbound rules allow the webhook addresses of live domains.
func receivers(c *console, db *store.DB, rules delivery.Outbound) finding {
	domains, err := db.Domains(c.ctx)
	if err != nil {
		return newFinding("outbound", fmt.Errorf("list the domains: %w", err), "")
	}
	var refused []error
	for _, domain := range domains {
		if domain.Kind == passerelle.Sandbox {
			continue
		}
		some, err := refusedReceivers(c, db, rules, domain.ID)
		if err != nil {
			return newFinding("outbound", fmt.Errorf("list the webhooks of %s: %w", domain.Name, err), "")
		}
		refused = append(refused, some...)
	}
	return newFinding("outbound", errors.Join(refused...), "every webhook of a live domain has an allowed address")
}

// refusedReceivers returns an error for each webhook of a domain to which the sender would make no
// request.
func refusedReceivers(c *console, db *store.DB, rules delivery.Outbound, domain passerelle.DomainID) ([]error, error) {
	var refused []error
	for w := (store.Window{Limit: store.MaxWebhooks}); ; {
		hooks, err := db.Webhooks(c.ctx, store.WebhookFilter{Domain: domain}, w)
		if err != nil {
			return nil, err
		}
		for _, hook := range hooks {
			if err := dialable(c.ctx, rules, hook); err != nil {
				refused = append(refused, err)
			}
		}
		if len(hooks) < w.Limit {
			return refused, nil
		}
		w.From = []any{int64(hooks[len(hooks)-1].ID)}
	}
}

const lookupTimeout = 5 * time.Second

// dialable looks up the host of a webhook as the sender would. It returns an error if the sender
// would make no request.
func dialable(ctx context.Context, rules delivery.Outbound, hook store.Webhook) error {
	address, err := url.Parse(hook.URL)
	if err != nil {
		return fmt.Errorf("webhook %d: its URL cannot be read", hook.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, address.Hostname())
	if err != nil {
		return fmt.Errorf("webhook %d: its host name cannot be resolved", hook.ID)
	}
	port := address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[address.Scheme]
	}
	for _, host := range found {
		if err := rules.Refuses(net.JoinHostPort(host, port)); err != nil {
			return fmt.Errorf("webhook %d: its host has an address or port that is not allowed; see --allow-networks and --allow-ports", hook.ID)
		}
	}
	return nil
}

// invariants returns a finding for each rule. Each finding covers all domains.
func (d *doctorCommand) invariants(c *console, db *store.DB) []finding {
	domains, err := db.Domains(c.ctx)
	if err != nil {
		return []finding{newFinding("invariants", fmt.Errorf("list the domains: %w", err), "")}
	}
	broken := map[string][]string{}
	for _, domain := range domains {
		breaches, err := breachesOf(c, db, domain)
		if err != nil {
			return []finding{newFinding("invariants", err, "")}
		}
		for _, b := range breaches {
			broken[b.Invariant.Name] = append(broken[b.Invariant.Name], domain.Name+": "+strings.Join(b.What, ", "))
		}
	}
	var findings []finding
	for _, rule := range store.Invariants() {
		f := finding{"invariant " + rule.Name, fine, rule.Rule}
		if what := broken[rule.Name]; len(what) > 0 {
			f.Result, f.Detail = wrong, "not so: "+rule.Rule+"; see "+strings.Join(what, "; ")
		}
		findings = append(findings, f)
	}
	return findings
}

func breachesOf(c *console, db *store.DB, domain passerelle.Domain) ([]store.Breach, error) {
	values, err := settings.Load(c.ctx, &db.Reader, domain.ID)
	if err != nil {
		return nil, err
	}
	return db.CheckInvariants(c.ctx, domain.ID, delivery.KeptSince(values, domain.Clock.Now(time.Now())))
}
