package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/audit"
	"passerelle/internal/database"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// fixture is a database with two domains, and a process that chains its audit log.
type fixture struct {
	t      *testing.T
	url    string
	db     *store.DB
	log    *audit.Log
	domain passerelle.DomainID
	other  passerelle.DomainID
}

func onEach(t *testing.T, run func(t *testing.T, o fixture)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, open(t, url)) })
}

func open(t *testing.T, url string) fixture {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	must(t, db.Database.Migrate(t.Context()))
	o := fixture{t: t, url: url, db: db, log: &audit.Log{DB: db, Name: "one"}}
	o.domain, o.other = o.createDomain("first"), o.createDomain("second")
	return o
}

func (o fixture) createDomain(name string) passerelle.DomainID {
	o.t.Helper()
	d := passerelle.Domain{Name: name, Kind: passerelle.Sandbox, BaseURL: "https://" + name + ".example/2.0", Created: start}
	must(o.t, o.db.Write(o.t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, name+".example") }))
	return d.ID
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (o fixture) act(domain passerelle.DomainID, n int) {
	o.t.Helper()
	for i := range n {
		act := store.Audit{Domain: domain, At: start.Add(time.Duration(i) * time.Second), Operator: 3, Request: "r", Act: fmt.Sprint("act ", i+1), Subject: "payment", SubjectID: 5}
		must(o.t, o.db.Write(o.t.Context(), func(tx *store.Tx) error { return tx.Audit(act) }))
	}
}

func (o fixture) chain() { o.t.Helper(); must(o.t, o.log.Chain(o.t.Context())) }

func (o fixture) verify(chain passerelle.DomainID, seen *audit.Checkpoint) audit.ChainCheck {
	o.t.Helper()
	v, err := audit.Verify(o.t.Context(), &o.db.Reader, chain, seen, func(int64) {})
	must(o.t, err)
	return v
}

// holds checks that a chain is intact. It also checks the numbers of chained and of waiting acts.
func (o fixture) holds(chain passerelle.DomainID, acts, waiting int64) {
	o.t.Helper()
	if v := o.verify(chain, nil); !v.Intact() || v.Last.Number != acts || v.Waiting != waiting {
		o.t.Errorf("chain %d: %+v, want %d acts, and %d that wait", chain, v, acts, waiting)
	}
}

func TestActsAreChainedByDomain(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		o.holds(o.domain, 0, 0)
		o.act(o.domain, 250)
		o.act(o.other, 2)
		o.act(0, 1)
		o.holds(o.domain, 0, 250)
		o.chain()
		o.holds(o.domain, 250, 0)
		o.holds(o.other, 2, 0)
		o.holds(0, 1, 0)
		o.act(o.other, 1)
		o.holds(o.other, 2, 1)
		o.chain()
		o.holds(o.other, 3, 0)
		chains, err := operatorstore.From(o.db).AuditChains(t.Context())
		must(t, err)
		if diff := cmp.Diff(3, len(chains)); diff != "" {
			t.Errorf("chains %v", chains)
		}
	})
}

// TestChainOrderIgnoresClocksAndRollbacks checks that acts are chained in the order of their
// recording, even if clocks differ.
func TestChainOrderIgnoresClocksAndRollbacks(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		undone := errors.New("undone")
		for i := range 5 {
			act := store.Audit{Domain: o.domain, At: start.Add(-time.Duration(i) * time.Hour), Act: fmt.Sprint(i)}
			must(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.Audit(act) }))
			err := o.db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(tx.Audit(act), undone) })
			if !errors.Is(err, undone) {
				t.Fatal(err)
			}
			if i == 2 {
				o.chain()
			}
		}
		o.chain()
		o.holds(o.domain, 5, 0)
		links, err := operatorstore.From(o.db).AuditLinks(t.Context(), o.domain, operatorstore.AuditLink{}, 10)
		must(t, err)
		var order []string
		for _, l := range links {
			order = append(order, l.Act)
		}
		if got := strings.Join(order, ""); got != "01234" {
			t.Errorf("the acts are in the places of %s", got)
		}
	})
}

// breakages lists changes to a chain with ten acts. In the statements, # means the chain's domain,
// and @ means another domain.
var breakages = []struct {
	name       string
	statements []string
	broken     int64
	why        string
}{
	{"a changed act", []string{`UPDATE audit SET act = 'other' WHERE domain_id = # AND number = 4`}, 4, "it was changed"},
	{"a changed time", []string{`UPDATE audit SET at = at + 1 WHERE domain_id = # AND number = 10`}, 10, "it was changed"},
	{"a changed operator", []string{`UPDATE audit SET operator_id = 0 WHERE domain_id = # AND number = 1`}, 1, "it was changed"},
	{"a refusal turned around", []string{`UPDATE audit SET refused = TRUE WHERE domain_id = # AND number = 7`}, 7, "it was changed"},
	{"a column that is no value any more", []string{`UPDATE audit SET subject = NULL, subject_id = NULL WHERE domain_id = # AND number = 2`}, 2, "it was changed"},
	{"a number of nobody", []string{`UPDATE audit SET session_id = 0 WHERE domain_id = # AND number = 2`}, 2, "it was changed"},
	{"a hash made anew", []string{`UPDATE audit SET hash = previous WHERE domain_id = # AND number = 4`}, 4, "it was changed"},
	{"another past", []string{`UPDATE audit SET previous = hash WHERE domain_id = # AND number = 4`}, 4, "does not follow"},
	{"a removed act", []string{`DELETE FROM audit WHERE domain_id = # AND number = 6`}, 6, "is missing"},
	{"the first removed", []string{`DELETE FROM audit WHERE domain_id = # AND number = 1`}, 1, "is missing"},
	{"an act taken out of the chain", []string{`UPDATE audit SET number = NULL, previous = NULL, hash = NULL WHERE domain_id = # AND number = 6`}, 6, "is missing"},
	{"moved to another domain", []string{`UPDATE audit SET domain_id = @ WHERE domain_id = # AND number = 5`}, 5, "is missing"},
	{"two acts swapped", []string{
		`UPDATE audit SET number = 99 WHERE domain_id = # AND number = 3`, `UPDATE audit SET number = 3 WHERE domain_id = # AND number = 5`,
		`UPDATE audit SET number = 5 WHERE domain_id = # AND number = 99`,
	}, 3, "does not follow"},
	{"what two acts say swapped", []string{
		`UPDATE audit SET act = 'x' WHERE domain_id = # AND number = 3`, `UPDATE audit SET act = 'act 3' WHERE domain_id = # AND number = 5`,
		`UPDATE audit SET act = 'act 5' WHERE domain_id = # AND number = 3`,
	}, 3, "it was changed"},
	{"an act put in between", []string{
		`UPDATE audit SET number = number + 1000 WHERE domain_id = # AND number > 6`, `UPDATE audit SET number = number - 999 WHERE domain_id = # AND number > 1000`,
		`INSERT INTO audit (id, domain_id, at, request_id, act, refused, number, previous, hash)
			SELECT 9000, domain_id, at, '', 'x', FALSE, 7, hash, hash FROM audit WHERE domain_id = # AND number = 6`,
	}, 7, "it was changed"},
	{"an act put in twice", []string{
		`INSERT INTO audit (id, domain_id, at, request_id, act, refused, number, previous, hash)
			SELECT 9001, domain_id, at, '', 'x', FALSE, 7, previous, hash FROM audit WHERE domain_id = # AND number = 7`,
	}, 7, "more than one"},
	{"the end cut off", []string{`DELETE FROM audit WHERE domain_id = # AND number > 8`}, 9, "the chain had 10 acts"},
	{"everything cut off", []string{`DELETE FROM audit WHERE domain_id = #`}, 1, "the chain had 10 acts"},
	{"the end cut off and its record lost", []string{
		`DELETE FROM audit WHERE domain_id = # AND number > 8`, `DELETE FROM audit_end WHERE chain = #`,
	}, 1, "past the end"},
	{"an end that says less", []string{`UPDATE audit_end SET number = 8, hash = (SELECT hash FROM audit WHERE domain_id = # AND number = 8) WHERE chain = #`}, 9, "past the end"},
	{"another end", []string{`UPDATE audit_end SET hash = (SELECT hash FROM audit WHERE domain_id = # AND number = 8) WHERE chain = #`}, 10, "not the act that the chain ended with"},
}

// TestEachBreakageIsSeenWhereItIs makes each breakage in a separate domain. Verify must report the
// place and the reason.
func TestEachBreakageIsSeenWhereItIs(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		domains := make([]passerelle.DomainID, len(breakages))
		for i := range breakages {
			domains[i] = o.createDomain(fmt.Sprint("domain", i))
			o.act(domains[i], 10)
		}
		o.act(o.other, 3)
		o.chain()
		var statements []string
		for i, b := range breakages {
			here := strings.NewReplacer("#", fmt.Sprint(int64(domains[i])), "@", fmt.Sprint(int64(o.other)))
			for _, statement := range b.statements {
				statements = append(statements, here.Replace(statement))
			}
		}
		for _, domain := range domains {
			o.holds(domain, 10, 0)
		}
		storetest.Break(t, o.url, append([]string{`DROP INDEX audit_chain`}, statements...)...)
		for i, b := range breakages {
			if v := o.verify(domains[i], nil); v.Intact() || v.Broken != b.broken || !strings.Contains(v.Why, b.why) {
				t.Errorf("%s: broken at %d because %q, want %d and %q", b.name, v.Broken, v.Why, b.broken, b.why)
			}
		}
	})
}

// TestACheckpointShowsAChainMadeAnew changes acts and then rebuilds the chain. Verify must find the
// difference from an earlier checkpoint.
func TestACheckpointShowsAChainMadeAnew(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		o.act(o.domain, 5)
		o.chain()
		o.act(o.domain, 5)
		o.chain()
		seen := o.verify(o.domain, nil).Last
		read, err := audit.ParseCheckpoint("--checkpoint", seen.String())
		must(t, err)
		if diff := cmp.Diff(seen, read); diff != "" {
			t.Error(diff)
		}
		o.act(o.domain, 1)
		o.chain()
		if v := o.verify(o.domain, &seen); !v.Intact() || v.Last.Number != 11 {
			t.Errorf("%+v", v)
		}
		storetest.Break(t, o.url, `DELETE FROM audit_end`, `UPDATE audit SET act = 'other' WHERE act = 'act 5'`,
			`UPDATE audit SET number = NULL, previous = NULL, hash = NULL`)
		o.chain()
		o.holds(o.domain, 11, 0)
		if v := o.verify(o.domain, &seen); v.Broken != 10 || !strings.Contains(v.Why, "checkpoint") {
			t.Errorf("%+v", v)
		}
		storetest.Break(t, o.url, `DELETE FROM audit_end`, `DELETE FROM audit WHERE number > 8`, `UPDATE audit SET number = NULL, previous = NULL, hash = NULL`)
		o.chain()
		o.holds(o.domain, 8, 0)
		if v := o.verify(o.domain, &seen); v.Broken != 9 || !strings.Contains(v.Why, "checkpoint") {
			t.Errorf("%+v", v)
		}
		for _, text := range []string{"", "5", "0:" + strings.Repeat("0", 64), "5:ab", ":", "x:" + strings.Repeat("0", 64)} {
			var wrong *passerelle.Error
			if _, err := audit.ParseCheckpoint("--checkpoint", text); !errors.As(err, &wrong) || wrong.Field != "--checkpoint" {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// TestBrokenChainDoesNotAffectOthers checks that Chain reports a chain that it cannot extend, and
// still extends the other chains.
func TestBrokenChainDoesNotAffectOthers(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		o.act(o.domain, 5)
		o.chain()
		storetest.Break(t, o.url, `DELETE FROM audit_end`)
		o.act(o.domain, 1)
		o.act(o.other, 1)
		if err := o.log.Chain(t.Context()); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("%v", err)
		}
		o.holds(o.other, 1, 0)
	})
}

// TestBrokenChainIsReportedWithoutALease makes another process take the lease after Chain has found
// a chain that it cannot extend. Chain must still report this chain.
func TestBrokenChainIsReportedWithoutALease(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		o.act(o.domain, 5)
		o.chain()
		storetest.Break(t, o.url, `DELETE FROM audit_end`)
		o.act(o.domain, 1)
		o.act(o.other, 1)
		chains := 0
		o.db.Database.Observe(func(ctx context.Context, statements []database.Statement) error {
			if !strings.Contains(statements[0].SQL, "UPDATE audit_turn SET lease_until") {
				return nil
			}
			if chains++; chains < 2 {
				return nil
			}
			return o.db.Write(ctx, func(tx *store.Tx) error { tx.Unit().Exec(`UPDATE audit_turn SET holder = 'two'`); return nil })
		})
		if err := o.log.Chain(t.Context()); !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("%v", err)
		}
		o.holds(o.other, 0, 1)
	})
}

// TestProcessesTakeTurns records acts concurrently while three processes chain them. The result
// must be one chain.
func TestProcessesTakeTurns(t *testing.T) {
	onEach(t, func(t *testing.T, o fixture) {
		const writers, acts = 4, 50
		ctx, cancel := context.WithCancel(t.Context())
		var chaining, writing sync.WaitGroup
		for _, name := range []string{"one", "two", "three"} {
			chaining.Go(func() {
				log := &audit.Log{DB: o.db, Name: name}
				for ctx.Err() == nil {
					if err := log.Chain(ctx); err != nil && ctx.Err() == nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		for range writers {
			writing.Go(func() { o.act(o.domain, acts) })
		}
		writing.Wait()
		if v := o.verify(o.domain, nil); !v.Intact() {
			t.Errorf("while they work: %+v", v)
		}
		cancel()
		chaining.Wait()
		o.chain()
		o.holds(o.domain, writers*acts, 0)
	})
}
