package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func onEachWithDomain(t *testing.T, run func(t *testing.T, db *store.DB, domain passerelle.DomainID)) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		if err := db.Database.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		domain := passerelle.Domain{Name: "one", Kind: passerelle.Sandbox, BaseURL: "http://one.example/2.0"}
		mustWrite(t, db, func(tx *store.Tx) error { return tx.CreateDomain(&domain, "one.example") })
		run(t, db, domain.ID)
	})
}

func mustWrite(t *testing.T, db *store.DB, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func repeat(domain passerelle.DomainID, key, request string) store.RepeatKey {
	return store.RepeatKey{Domain: domain, Token: 1, Key: []byte(key), Request: []byte(request)}
}

func claim(t *testing.T, db *store.DB, k store.RepeatKey) store.Claim {
	t.Helper()
	c, err := db.ClaimKey(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lapse(t *testing.T, db *store.DB, column string) {
	t.Helper()
	mustWrite(t, db, func(tx *store.Tx) error {
		tx.Unit().Exec(`UPDATE idempotency SET ` + column + ` = {now} - 1000000`)
		return nil
	})
}

func TestClaimKey(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		first := claim(t, db, repeat(domain, "k", "r"))
		if first.Execution.ID == 0 || first.Subject != 0 {
			t.Fatalf("first: %+v", first)
		}
		if again := claim(t, db, repeat(domain, "k", "r")); again.Wait <= 0 || again.Wait > store.KeyLease || again.Execution.ID != 0 {
			t.Errorf("while it runs: %+v", again)
		}
		if other := claim(t, db, repeat(domain, "k", "s")); !other.Other {
			t.Errorf("with another request: %+v", other)
		}
		foreign := repeat(domain, "k", "s")
		foreign.Token = 2
		if c := claim(t, db, foreign); c.Execution.ID == 0 {
			t.Errorf("of another token: %+v", c)
		}
		mustWrite(t, db, func(tx *store.Tx) error { return tx.KeepResponse(first.Execution, []byte("answer")) })
		if c := claim(t, db, repeat(domain, "k", "r")); string(c.Response) != "answer" || c.Execution.ID != 0 {
			t.Errorf("after it: %+v", c)
		}
		lapse(t, db, "lease_until")
		if c := claim(t, db, repeat(domain, "k", "r")); string(c.Response) != "answer" {
			t.Errorf("an answer does not lapse with the lease: %+v", c)
		}
		lapse(t, db, "expires")
		if c := claim(t, db, repeat(domain, "k", "s")); c.Execution.ID == 0 || c.Subject != 0 {
			t.Errorf("after its time: %+v", c)
		}
	})
}

// TestLongExecutionsKeepTheirKey checks that HoldKey renews the lease of a key, so that another
// request must wait.
func TestLongExecutionsKeepTheirKey(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		long := claim(t, db, repeat(domain, "k", "r"))
		lapse(t, db, "lease_until")
		db.RenewKeysEvery(time.Millisecond)
		stop := db.HoldKey(t.Context(), long.Execution)
		for held := int64(0); held == 0; {
			var err error
			if held, err = database.One(t.Context(), db.Rows(), database.ScanInt, `SELECT count(*) FROM idempotency WHERE lease_until > {now}`); err != nil {
				t.Fatal(err)
			}
		}
		if c := claim(t, db, repeat(domain, "k", "r")); c.Wait <= 0 {
			t.Errorf("while it is held: %+v", c)
		}
		stop()
		mustWrite(t, db, func(tx *store.Tx) error { tx.ReleaseKey(long.Execution); return nil })
		if c := claim(t, db, repeat(domain, "k", "r")); c.Execution.ID == 0 {
			t.Errorf("once it is released: %+v", c)
		}
	})
}

func TestKeptAnswersAreSealed(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		first := claim(t, db, repeat(domain, "k", "r"))
		mustWrite(t, db, func(tx *store.Tx) error { return tx.KeepResponse(first.Execution, []byte("answer")) })
		stored, err := database.One(t.Context(), db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) }, `SELECT answer FROM idempotency`)
		if err != nil || bytes.Contains(stored, []byte("answer")) {
			t.Errorf("stored %q (%v)", stored, err)
		}
	})
}

// TestAnExecutionThatWasTakenOverMakesNothing checks that an execution stores no object and no
// response after another execution has taken over its key.
func TestAnExecutionThatWasTakenOverMakesNothing(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		late := claim(t, db, repeat(domain, "k", "r"))
		lapse(t, db, "lease_until")
		next := claim(t, db, repeat(domain, "k", "r"))
		if next.Execution.ID != late.Execution.ID || next.Execution.Run == late.Execution.Run {
			t.Fatalf("late %+v, next %+v", late, next)
		}
		executed := func(e store.Execution, subject int64) error {
			return db.Write(context.Background(), func(tx *store.Tx) error { return tx.Executed(e, subject) })
		}
		if err := executed(late.Execution, 7); !errors.Is(err, store.ErrTakenOver) || errors.Is(err, store.ErrConflict) {
			t.Errorf("the late execution: %v", err)
		}
		if err := executed(next.Execution, 8); err != nil {
			t.Errorf("the next execution: %v", err)
		}
		if err := keep(db, late.Execution, "late"); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("the response of the late execution: %v", err)
		}
		if answer, err := db.StoredResponse(t.Context(), late.Execution); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the stored response is %q, %v", answer, err)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error { tx.ReleaseKey(late.Execution); return nil }); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("the release by the late execution: %v", err)
		}
		lapse(t, db, "lease_until")
		if c := claim(t, db, repeat(domain, "k", "r")); c.Subject != 8 || c.Response != nil {
			t.Errorf("after a crash: %+v, want what was made", c)
		}
	})
}

// TestAnswersWithWhatWasMade checks that Responded stores the response, unless another execution has
// taken over the key.
func TestAnswersWithWhatWasMade(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		k := repeat(domain, "k", "r")
		late := claim(t, db, k).Execution
		lapse(t, db, "lease_until")
		e := claim(t, db, k).Execution
		answered := func(e store.Execution, text string) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return tx.Responded(e, 7, []byte(text)) })
		}
		if err := answered(late, "late"); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("an execution that was taken over: %v", err)
		}
		if err := answered(e, "made"); err != nil {
			t.Fatal(err)
		}
		if c := claim(t, db, k); string(c.Response) != "made" {
			t.Errorf("a repetition gets %+v", c)
		}
		if err := answered(e, "again"); !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("a second answer: %v", err)
		}
		if err := answered(store.Execution{}, "without a key"); err != nil {
			t.Errorf("without a key: %v", err)
		}
	})
}

// TestTheFirstAnswerStays checks that a stored response is never replaced, neither by a second
// response of the same execution nor by an execution that was taken over.
func TestTheFirstAnswerStays(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		k := repeat(domain, "k", "r")
		late := claim(t, db, k).Execution
		lapse(t, db, "lease_until")
		e := claim(t, db, k).Execution
		if err := keep(db, e, "first"); err != nil {
			t.Fatal(err)
		}
		for _, second := range []store.Execution{e, late} {
			if err := keep(db, second, "second"); !errors.Is(err, store.ErrTakenOver) {
				t.Errorf("run %d: %v", second.Run, err)
			}
			if answer, err := db.StoredResponse(t.Context(), second); string(answer) != "first" || err != nil {
				t.Errorf("run %d reads %q, %v", second.Run, answer, err)
			}
		}
		if c := claim(t, db, k); string(c.Response) != "first" {
			t.Errorf("a repetition gets %+v", c)
		}
	})
}

func keep(db *store.DB, e store.Execution, answer string) error {
	return db.Write(context.Background(), func(tx *store.Tx) error { return tx.KeepResponse(e, []byte(answer)) })
}

func TestReleaseKey(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		first := claim(t, db, repeat(domain, "k", "r"))
		mustWrite(t, db, func(tx *store.Tx) error { tx.ReleaseKey(first.Execution); return nil })
		second := claim(t, db, repeat(domain, "k", "s"))
		if second.Execution.ID == 0 {
			t.Fatalf("after release: %+v", second)
		}
		mustWrite(t, db, func(tx *store.Tx) error { return tx.Executed(second.Execution, 9) })
		mustWrite(t, db, func(tx *store.Tx) error { tx.ReleaseKey(second.Execution); return nil })
		if c := claim(t, db, repeat(domain, "k", "s")); c.Execution.ID == 0 || c.Subject != 9 {
			t.Errorf("released after something was made: %+v", c)
		}
	})
}

func TestOfManyClaimsOneWins(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		claims := make([]store.Claim, 8)
		var all sync.WaitGroup
		for i := range claims {
			all.Go(func() {
				var err error
				if claims[i], err = db.ClaimKey(t.Context(), repeat(domain, "k", "r")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		won := 0
		for _, c := range claims {
			if c.Execution.ID != 0 {
				won++
			} else if c.Wait < time.Second {
				t.Errorf("neither won nor has to wait: %+v", c)
			}
		}
		if won != 1 {
			t.Errorf("%d executions", won)
		}
	})
}

func TestPurgeAnswers(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		claim(t, db, repeat(domain, "a", "r"))
		claim(t, db, repeat(domain, "b", "r"))
		lapse(t, db, "expires")
		claim(t, db, repeat(domain, "c", "r"))
		for range 2 {
			mustWrite(t, db, func(tx *store.Tx) error { tx.PurgeResponses(1); return nil })
		}
		left, err := database.One(t.Context(), db.Rows(), database.ScanInt, `SELECT COUNT(*) FROM idempotency`)
		if err != nil || left != 1 {
			t.Errorf("%d left (%v), want the one that has not expired", left, err)
		}
	})
}

// TestRequestsWithoutAKey checks that calls with the zero Execution succeed. Use cases therefore
// need not check for the zero value.
func TestRequestsWithoutAKey(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, _ passerelle.DomainID) {
		mustWrite(t, db, func(tx *store.Tx) error {
			tx.ReleaseKey(store.Execution{})
			return errors.Join(tx.Executed(store.Execution{}, 1), tx.KeepResponse(store.Execution{}, nil))
		})
	})
}

// TestFormsCreateOnce sends the same form several times at once. Only one object is created, and
// every request finds it. Keys of requests do not disturb keys of forms.
func TestFormsCreateOnce(t *testing.T) {
	onEachWithDomain(t, func(t *testing.T, db *store.DB, domain passerelle.DomainID) {
		form := store.FormExecution(domain, "k")
		if _, err := db.MadeFor(t.Context(), form); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("before: %v", err)
		}
		claim(t, db, repeat(domain, "k", "r"))
		errs := make([]error, 8)
		var sending sync.WaitGroup
		for i := range errs {
			sending.Go(func() {
				errs[i] = db.Write(t.Context(), func(tx *store.Tx) error { return tx.Executed(form, int64(i)+1) })
			})
		}
		sending.Wait()
		made, err := db.MadeFor(t.Context(), form)
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			if first := made == int64(i)+1; first && err != nil || !first && !errors.Is(err, store.ErrRepeated) {
				t.Errorf("%d was made, and request %d got %v", made, i+1, err)
			}
		}
		mustWrite(t, db, func(tx *store.Tx) error { return tx.Executed(store.FormExecution(domain, "other"), 9) })
		mustWrite(t, db, func(tx *store.Tx) error { tx.PurgeResponses(10); return nil })
		if again, err := db.MadeFor(t.Context(), form); err != nil || again != made {
			t.Errorf("later %d was made (%v), want %d", again, err, made)
		}
		lapse(t, db, "expires")
		mustWrite(t, db, func(tx *store.Tx) error { tx.PurgeResponses(10); return nil })
		if _, err := db.MadeFor(t.Context(), form); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after a day: %v", err)
		}
	})
}
