package store_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

func (s fixture) operator(name string) operatorstore.Operator {
	s.t.Helper()
	o := operatorstore.Operator{Name: name, Role: "viewer", Password: "hash", Created: now}
	s.write(func(tx *store.Tx) error { return operatorstore.In(tx).CreateOperator(&o) })
	return o
}

func TestOperatorIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		zoe, adam := s.operator("zoe"), s.operator("adam")
		got, err := operatorstore.From(s.db).OperatorByName(t.Context(), "zoe")
		wantSame(t, zoe, got, err)
		all, err := operatorstore.From(s.db).Operators(t.Context(), 10)
		wantSame(t, []operatorstore.Operator{adam, zoe}, all, err)
		twin := operatorstore.Operator{Name: "zoe", Role: "viewer", Created: now}
		wantError(t, s.try(func(tx *store.Tx) error { return operatorstore.In(tx).CreateOperator(&twin) }), store.ErrDuplicate)
		stray := operatorstore.Operator{Name: "stray", Role: "owner", Created: now}
		wantError(t, s.try(func(tx *store.Tx) error { return operatorstore.In(tx).CreateOperator(&stray) }), store.ErrConstraint)
		s.write(func(tx *store.Tx) error {
			operatorstore.In(tx).SetOperatorPassword(zoe.ID, "other")
			operatorstore.In(tx).DisableOperator(zoe.ID, &now)
			return nil
		})
		zoe.Password, zoe.Disabled = "other", &now
		got, err = operatorstore.From(s.db).Operator(t.Context(), zoe.ID)
		wantSame(t, zoe, got, err)
		wantError(t, s.try(func(tx *store.Tx) error { operatorstore.In(tx).DisableOperator(999, nil); return nil }), store.ErrNotFound)
		got, err = operatorstore.From(s.db).Operator(t.Context(), 999)
		wantNotFound(t, got, err)
	})
}

func TestSecondFactorIsSealedAndUsedOnce(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		o := s.operator("zoe")
		do := func(fn func(*store.Tx) error) error { return s.try(fn) }
		wantError(t, do(func(tx *store.Tx) error { return operatorstore.In(tx).ConfirmTOTP(o.ID, []byte("secret"), 7) }), store.ErrConflict)
		s.write(func(tx *store.Tx) error { return operatorstore.In(tx).ProposeTOTP(o.ID, []byte("secret")) })
		got, err := operatorstore.From(s.db).TOTP(t.Context(), o.ID)
		wantSame(t, operatorstore.TOTP{Proposed: []byte("secret")}, got, err)
		s.write(func(tx *store.Tx) error { return operatorstore.In(tx).ConfirmTOTP(o.ID, got.Proposed, 7) })
		got, err = operatorstore.From(s.db).TOTP(t.Context(), o.ID)
		wantSame(t, operatorstore.TOTP{Secret: []byte("secret"), LastStep: 7}, got, err)
		if stored, err := operatorstore.From(s.db).Operator(t.Context(), o.ID); err != nil || !stored.SecondFactor {
			t.Errorf("%+v, %v", stored, err)
		}
		if n := s.count(`SELECT count(*) FROM operator WHERE totp = $1`, []byte("secret")); n != 0 {
			t.Error("the secret is stored as it is")
		}
		for step, want := range map[int64]error{6: store.ErrConflict, 7: store.ErrConflict} {
			wantError(t, do(func(tx *store.Tx) error { operatorstore.In(tx).UseTOTP(o.ID, step); return nil }), want)
		}
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).UseTOTP(o.ID, 8); return nil })
		wantError(t, do(func(tx *store.Tx) error { operatorstore.In(tx).UseTOTP(o.ID, 8); return nil }), store.ErrConflict)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ResetTOTP(o.ID); return nil })
		got, err = operatorstore.From(s.db).TOTP(t.Context(), o.ID)
		wantSame(t, operatorstore.TOTP{LastStep: 8}, got, err)
	})
}

func (s fixture) session(o operatorstore.Operator, token string) operatorstore.Session {
	s.t.Helper()
	hash := sha256.Sum256([]byte(token))
	session := operatorstore.Session{Operator: o.ID, TokenHash: hash[:], CSRF: []byte("csrf"), Step: "single", Created: now, Seen: now, Expires: now.Add(time.Hour)}
	s.write(func(tx *store.Tx) error { return operatorstore.In(tx).CreateSession(&session) })
	return session
}

func TestSessionsEnd(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		o, other := s.operator("zoe"), s.operator("adam")
		first, second, third, foreign := s.session(o, "1"), s.session(o, "2"), s.session(o, "3"), s.session(other, "4")
		later := now.Add(time.Minute)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).TouchSession(first.ID, later); return nil })
		first.Seen = later
		got, by, err := operatorstore.From(s.db).Session(t.Context(), first.TokenHash)
		wantSame(t, first, got, err)
		wantSame(t, o, by, err)
		open := func() []int64 {
			all, err := operatorstore.From(s.db).Sessions(t.Context(), o.ID, later, time.Time{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			return ids
		}
		wantError(t, s.try(func(tx *store.Tx) error { operatorstore.In(tx).RevokeSession(o.ID, foreign.ID, later); return nil }), store.ErrNotFound)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).RevokeSession(o.ID, second.ID, later); return nil })
		wantError(t, s.try(func(tx *store.Tx) error { operatorstore.In(tx).RevokeSession(o.ID, second.ID, later); return nil }), store.ErrNotFound)
		if diff := cmp.Diff([]int64{third.ID, first.ID}, open()); diff != "" {
			t.Error(diff)
		}
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).RevokeSessions(o.ID, first.ID, later); return nil })
		if diff := cmp.Diff([]int64{first.ID}, open()); diff != "" {
			t.Error(diff)
		}
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).DisableOperator(o.ID, &later); return nil })
		if left := open(); left != nil {
			t.Errorf("sessions %v of an operator who is disabled", left)
		}
		if err := s.db.PurgeExpired(t.Context(), later.Add(time.Second), 2, 10); err != nil {
			t.Fatal(err)
		}
		if n := s.count(`SELECT count(*) FROM console_session`); n != 1 {
			t.Errorf("%d sessions are left, want that of the other operator", n)
		}
	})
}

func TestAttemptsToSignInAreCounted(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		const limit, span = 3, time.Hour
		take := func(at time.Time) error {
			return s.try(func(tx *store.Tx) error {
				operatorstore.In(tx).TakeSignIn(operatorstore.SignInCounter{Subject: []byte("zoe"), Limit: limit}, at, span)
				return nil
			})
		}
		for i := range limit {
			if err := take(now.Add(time.Duration(i) * time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, take(now.Add(3*time.Minute)), operatorstore.ErrLocked)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ReturnSignIn([]byte("zoe")); return nil })
		if err := take(now.Add(4 * time.Minute)); err != nil {
			t.Error(err)
		}
		wantError(t, take(now.Add(5*time.Minute)), operatorstore.ErrLocked)
		if err := take(now.Add(4*time.Minute + span)); err != nil {
			t.Errorf("after the span: %v", err)
		}
		if n := s.count(`SELECT failures FROM sign_in_failure`); n != 1 {
			t.Errorf("%d failures after the span", n)
		}
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ForgiveSignIn([]byte("zoe")); return nil })
		if n := s.count(`SELECT count(*) FROM sign_in_failure`); n != 0 {
			t.Errorf("%d are remembered", n)
		}
	})
}

func TestAttemptsToSignInAreForgotten(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		take := func(subject, of string, at time.Time, times int) {
			for range times {
				k := operatorstore.SignInCounter{Subject: []byte(subject), Limit: 10}
				if of != "" {
					k.Of = []byte(of)
				}
				s.write(func(tx *store.Tx) error { operatorstore.In(tx).TakeSignIn(k, at, time.Hour); return nil })
			}
		}
		left := func() string {
			all, err := database.Collect(t.Context(), s.db.Rows(), func(row database.Row) (string, error) {
				var subject []byte
				err := row.Scan(&subject)
				return string(subject), err
			}, `SELECT subject FROM sign_in_failure ORDER BY subject`)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, " ")
		}
		forget := func(before time.Time, limit, tooMany int, want string) {
			t.Helper()
			s.write(func(tx *store.Tx) error { operatorstore.In(tx).ForgetSignIns(before, limit, tooMany); return nil })
			if got := left(); got != want {
				t.Errorf("%q are left, want %q", got, want)
			}
		}
		take("a", "", now, 3)
		take("b", "a", now.Add(time.Minute), 1)
		take("c", "", now.Add(2*time.Minute), 1)
		take("d", "c", now.Add(2*time.Minute), 5)
		take("e", "a", now.Add(3*time.Minute), 1)
		forget(now.Add(-time.Second), 10, 0, "a b c d e")
		forget(now.Add(time.Minute), 1, 0, "b c d e")
		forget(now, 10, 2, "d e")
		forget(now, 10, 1, "d")
		take("e", "a", now, 1)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ForgiveSignIn([]byte("a")); return nil })
		if got := left(); got != "d" {
			t.Errorf("%q are left after those of a were forgiven", got)
		}
	})
}

// TestHoldOperatorRefusesAChangedOperator checks that HoldOperator makes Write fail for an operator
// who has changed since the sign-in. The operator was disabled, or has a new password or second
// factor.
func TestHoldOperatorRefusesAChangedOperator(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		hold := func(o operatorstore.Operator) error {
			return s.try(func(tx *store.Tx) error { operatorstore.In(tx).HoldOperator(o); return nil })
		}
		seen := s.operator("zoe")
		wantError(t, hold(seen), nil)
		for name, change := range map[string]func(tx *store.Tx, o operatorstore.Operator) error{
			"disabled": func(tx *store.Tx, o operatorstore.Operator) error {
				operatorstore.In(tx).DisableOperator(o.ID, &now)
				return nil
			},
			"another password": func(tx *store.Tx, o operatorstore.Operator) error {
				operatorstore.In(tx).SetOperatorPassword(o.ID, "other")
				return nil
			},
			"a second factor": func(tx *store.Tx, o operatorstore.Operator) error {
				return errors.Join(operatorstore.In(tx).ProposeTOTP(o.ID, []byte("x")), operatorstore.In(tx).ConfirmTOTP(o.ID, []byte("x"), 1))
			},
		} {
			o := s.operator(name)
			s.write(func(tx *store.Tx) error { return change(tx, o) })
			if err := hold(o); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestTheAuditLogIsNeverRewritten(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		entries := []store.Audit{
			{Domain: s.domain, At: now, Operator: 7, Session: 8, Request: "9", Act: "cancel payment", Subject: "payment", SubjectID: 5},
			{Domain: s.domain, At: now.Add(time.Second), Operator: 7, Act: "sign in", Refused: true},
			{At: now, Act: "create operator", Subject: "operator", SubjectID: 7},
		}
		for i := range entries {
			s.write(func(tx *store.Tx) error { return tx.Audit(entries[i]) })
		}
		got, err := operatorstore.From(s.db).Audits(t.Context(), operatorstore.AuditFilter{Domain: s.domain}, store.Window{Limit: 10})
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		entries[1].ID, entries[0].ID = got[0].ID, got[1].ID
		wantSame(t, []store.Audit{entries[1], entries[0]}, auditsOf(got), err)
		got, err = operatorstore.From(s.db).Audits(t.Context(), operatorstore.AuditFilter{Operator: 7}, store.Window{Limit: 1})
		wantSame(t, entries[1:2], auditsOf(got), err)
		for _, sql := range []string{
			`UPDATE audit SET act = 'other'`, `UPDATE audit SET operator_id = 1`, `UPDATE audit SET refused = FALSE`, `DELETE FROM audit`,
			`UPDATE audit SET number = 1`, // without a hash
		} {
			wantError(t, s.sql(sql), store.ErrConstraint)
		}
		chain := `UPDATE audit SET number = 1, previous = $1, hash = $1 WHERE id = $2`
		if err := s.sql(chain, []byte("x"), entries[0].ID); err != nil {
			t.Fatal(err)
		}
		wantError(t, s.sql(chain, []byte("y"), entries[0].ID), store.ErrConstraint)
		wantError(t, s.sql(chain, []byte("x"), entries[1].ID), store.ErrDuplicate)
	})
}

// auditsOf returns acts without their places in a chain.
func auditsOf(links []operatorstore.AuditLink) []store.Audit {
	acts := make([]store.Audit, len(links))
	for i, link := range links {
		acts[i] = link.Audit
	}
	return acts
}
