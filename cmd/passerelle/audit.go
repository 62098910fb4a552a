package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/audit"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

type auditCommand struct {
	databaseFlag
	Domain   string      `placeholder:"NAME" help:"Use only the acts of this domain (default: all)."`
	NoDomain bool        `help:"Use only acts without a domain, such as signing in."`
	List     auditList   `cmd:"" help:"List the acts of operators, refused acts, and looks at personal data, newest first."`
	Verify   auditVerify `cmd:"" help:"Verify the audit log, and name the first changed, removed or added entry." resume:"nothing was changed, and the same command verifies the log again"`
}

// books holds the data of the audit commands: the names of domains by id, and any chosen domain.
type books struct {
	db     *store.DB
	names  map[passerelle.DomainID]string
	chosen passerelle.Domain
	zone   *time.Location
}

func (g *auditCommand) open(c *console, command func(books) (any, error)) error {
	if g.NoDomain && g.Domain != "" {
		return passerelle.InvalidField("--no-domain", "cannot be combined with --domain")
	}
	return g.do(c, nil, func(db *store.DB) (any, error) {
		all, err := db.Domains(c.ctx)
		if err != nil {
			return nil, fmt.Errorf("list the domains: %w", err)
		}
		b := books{db: db, names: map[passerelle.DomainID]string{}, zone: time.UTC}
		for _, d := range all {
			b.names[d.ID] = d.Name
		}
		if g.Domain == "" {
			return command(b)
		}
		if b.chosen, err = (domainFlags{Domain: g.Domain}).choose(all); err != nil {
			return nil, err
		}
		if b.zone, err = zoneOf(c, db, b.chosen); err != nil {
			return nil, err
		}
		return command(b)
	})
}

// name returns the name of a domain, or the domain's id if the domain was deleted.
func (b books) name(id passerelle.DomainID) string {
	if id == 0 {
		return ""
	}
	return cmp.Or(b.names[id], fmt.Sprint(int64(id)))
}

// chainView is the result of reading a chain.
type chainView struct {
	Domain string `json:"domain,omitempty"`
	Result string `json:"result"`
	// Checkpoint is the position and the hash of the last correct act. It is empty for a chain
	// without acts.
	Checkpoint string `json:"checkpoint,omitempty"`
	Acts       int64  `json:"acts"`
	Waiting    int64  `json:"waiting"`
	Broken     int64  `json:"broken_at,omitempty"`
	Why        string `json:"why,omitempty"`
}

func (b books) viewChain(v audit.ChainCheck) chainView {
	view := chainView{Domain: b.name(v.Chain), Result: "intact", Acts: v.Last.Number, Waiting: v.Waiting, Broken: v.Broken}
	if v.Last.Number > 0 {
		view.Checkpoint = v.Last.String()
	}
	if !v.Intact() {
		view.Result, view.Why = "broken", fmt.Sprintf("act %d: %s", v.Broken, v.Why)
	}
	return view
}

// errBroken means that at least one chain is broken.
var errBroken = errors.New("the audit log is broken: acts are missing or were changed")

type auditVerify struct {
	Checkpoint string `placeholder:"NUMBER:HASH" help:"A checkpoint from an earlier verify. The chain must still contain this checkpoint. Use it with --domain or --no-domain."`
}

// Run verifies chains and prints the results. It fails when a chain is broken.
func (n *auditVerify) Run(c *console, g *auditCommand) error {
	seen, err := n.seen(g)
	if err != nil {
		return err
	}
	broken := false
	err = g.open(c, func(b books) (any, error) {
		chains, err := b.chains(c, g.NoDomain)
		if err != nil {
			return nil, err
		}
		found := make([]chainView, len(chains))
		for i, chain := range chains {
			v, err := b.verify(c, chain, seen)
			if err != nil {
				return nil, err
			}
			found[i], broken = b.viewChain(v), broken || !v.Intact()
		}
		return found, nil
	})
	if err == nil && broken {
		err = errBroken
	}
	return err
}

func (n *auditVerify) seen(g *auditCommand) (*audit.Checkpoint, error) {
	if n.Checkpoint == "" {
		return nil, nil //nolint:nilnil // without a checkpoint
	}
	if g.Domain == "" && !g.NoDomain {
		return nil, passerelle.InvalidField("--checkpoint", "belongs to one chain: name it with --domain or --no-domain")
	}
	seen, err := audit.ParseCheckpoint("--checkpoint", n.Checkpoint)
	return &seen, err
}

// chains returns the ids of the requested chains.
func (b books) chains(c *console, none bool) ([]passerelle.DomainID, error) {
	if none || b.chosen.ID != 0 {
		return []passerelle.DomainID{b.chosen.ID}, nil
	}
	chains, err := operatorstore.From(b.db).AuditChains(c.ctx)
	if err != nil {
		return nil, fmt.Errorf("list the chains of the audit log: %w", err)
	}
	return chains, nil
}

func (b books) verify(c *console, chain passerelle.DomainID, seen *audit.Checkpoint) (audit.ChainCheck, error) {
	end, err := operatorstore.From(b.db).AuditEnd(c.ctx, chain)
	if err != nil {
		return audit.ChainCheck{}, fmt.Errorf("read the end of a chain: %w", err)
	}
	meter := c.meter(strings.TrimSpace("verify " + b.name(chain)))
	defer meter.End()
	meter.Expect(end.Number, "acts")
	return audit.Verify(c.ctx, &b.db.Reader, chain, seen, meter.At)
}

type auditList struct {
	period
	Operator string `placeholder:"NAME" help:"List only acts of this operator."`
	Act      string `help:"List only this act, such as 'sign in' or 'cancel payment'."`
	Subject  string `placeholder:"KIND[:ID]" help:"List only acts on this kind of subject, or on one subject, such as payment:12."`
	Refused  bool   `help:"List only refused acts."`
	Before   int64  `placeholder:"ID" help:"List only acts older than this one, for the next page."`
	Limit    int    `default:"100" least:"1" most:"1000" placeholder:"N" help:"List at most this many acts, up to 1000."`
}

// actView is the printed form of an act. Its time is in the zone of the chosen domain or, without a
// chosen domain, in UTC.
type actView struct {
	ID         int64            `json:"id"`
	At         string           `json:"timestamp"`
	Domain     string           `json:"domain,omitempty"`
	Operator   string           `json:"operator,omitempty"`
	IDOperator store.OperatorID `json:"id_operator,omitempty"`
	Session    int64            `json:"id_session,omitempty"`
	Request    string           `json:"request_id,omitempty"`
	Act        string           `json:"act"`
	Refused    bool             `json:"refused,omitempty"`
	Subject    string           `json:"subject,omitempty"`
	IDSubject  int64            `json:"id_subject,omitempty"`
	// Number and Hash are empty until the act has a position in the chain.
	Number int64  `json:"number,omitempty"`
	Hash   string `json:"hash,omitempty"`
}

// Run lists acts.
func (l *auditList) Run(c *console, g *auditCommand) error {
	return g.open(c, func(b books) (any, error) {
		operators, err := b.operators(c)
		if err != nil {
			return nil, err
		}
		filter, err := l.filter(b, g, operators)
		if err != nil {
			return nil, err
		}
		window := store.Window{Limit: l.Limit}
		if l.Before != 0 {
			last, err := operatorstore.From(b.db).AuditEntry(c.ctx, l.Before)
			if err != nil {
				return nil, known(err, "--before", l.Before)
			}
			window.From = last.Place()
		}
		all, err := operatorstore.From(b.db).Audits(c.ctx, filter, window)
		if err != nil {
			return nil, fmt.Errorf("list the acts: %w", err)
		}
		return views(all, func(a operatorstore.AuditLink) actView { return b.viewAct(a, operators) }), nil
	})
}

// maxOperators is the maximum number of operators that are shown by name.
const maxOperators = 1000

func (b books) operators(c *console) (map[store.OperatorID]string, error) {
	all, err := operatorstore.From(b.db).Operators(c.ctx, maxOperators)
	if err != nil {
		return nil, fmt.Errorf("list the operators: %w", err)
	}
	names := make(map[store.OperatorID]string, len(all))
	for _, o := range all {
		names[o.ID] = o.Name
	}
	return names, nil
}

func (l *auditList) filter(b books, g *auditCommand, operators map[store.OperatorID]string) (operatorstore.AuditFilter, error) {
	f := operatorstore.AuditFilter{Domain: b.chosen.ID, NoDomain: g.NoDomain, Act: l.Act, Refused: l.Refused}
	var err error
	if f.From, f.Until, err = l.bounds(b.zone); err != nil {
		return f, err
	}
	kind, id, one := strings.Cut(l.Subject, ":")
	if f.Subject = kind; one {
		if f.SubjectID, err = strconv.ParseInt(id, 10, 64); err != nil || f.SubjectID < 1 || kind == "" {
			return f, passerelle.InvalidField("--subject", "must be a kind of object, or a kind, a colon and an id, such as payment:12")
		}
	}
	if l.Operator == "" {
		return f, nil
	}
	for id, name := range operators {
		if name == strings.ToLower(l.Operator) {
			f.Operator = id
			return f, nil
		}
	}
	return f, absent("--operator", "there is no operator %q", l.Operator)
}

func (b books) viewAct(a operatorstore.AuditLink, operators map[store.OperatorID]string) actView {
	view := actView{
		ID: a.ID, At: passerelle.FormatDateTime(a.At, b.zone), Domain: b.name(a.Domain), Operator: operators[a.Operator], IDOperator: a.Operator,
		Session: a.Session, Request: a.Request, Act: a.Act, Refused: a.Refused, Subject: a.Subject, IDSubject: a.SubjectID, Number: a.Number,
	}
	if a.Number > 0 {
		view.Hash = fmt.Sprintf("%x", a.Hash)
	}
	return view
}
