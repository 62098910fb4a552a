package operators_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// fixture has the use cases on a database for this test.
type fixture struct {
	*operators.Operators
	t   *testing.T
	now time.Time
	// meanwhile is a function that runs once, in the middle of an operation. The field "after" is
	// the number of clock readings before this function runs.
	meanwhile func()
	after     int
}

// ask is the clock of the use cases. It runs the test's code in the middle of an operation.
func (d *fixture) ask() time.Time {
	if d.meanwhile == nil {
		return d.now
	}
	if d.after--; d.after < 0 {
		do := d.meanwhile
		d.meanwhile = nil
		do()
	}
	return d.now
}

func each(t *testing.T, run func(t *testing.T, d *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		db, err := store.Open(t.Context(), url, store.Options{Keys: ring})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		must(t, db.Database.Migrate(t.Context()))
		d := &fixture{t: t, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
		d.Operators = &operators.Operators{DB: db, Now: d.ask, MAC: ring.MAC}
		run(t, d)
	})
}

// tooLong is a wrong password. Its length makes the service refuse it without the slow comparison.
var tooLong = strings.Repeat("x", 2000)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func (d *fixture) operator(name string, role operators.Role) string {
	d.t.Helper()
	_, password, err := d.Create(d.t.Context(), name, role)
	must(d.t, err)
	return password
}

func (d *fixture) signIn(name, password, address string) (operators.IssuedSession, error) {
	return d.SignIn(d.t.Context(), operators.SignInAttempt{Name: name, Password: password, Address: address, Request: "7"})
}

// inside signs in an operator who needs no second factor.
func (d *fixture) inside(name, password string) (operators.IssuedSession, operators.SignedIn) {
	d.t.Helper()
	pass, err := d.signIn(name, password, "192.0.2.1")
	must(d.t, err)
	v, err := d.ResumeSession(d.t.Context(), pass.Token)
	must(d.t, err)
	return pass, v
}

func (d *fixture) acts(name string) []string {
	d.t.Helper()
	o, err := operatorstore.From(d.DB).OperatorByName(d.t.Context(), name)
	must(d.t, err)
	all, err := operatorstore.From(d.DB).Audits(d.t.Context(), operatorstore.AuditFilter{Operator: o.ID}, store.Window{Limit: 100})
	must(d.t, err)
	var acts []string
	for _, a := range all {
		act := a.Act
		if a.Refused {
			act += " refused"
		}
		acts = append([]string{act}, acts...)
	}
	return acts
}

// code returns the code that an app shows now. The test computes it independently of the program.
func (d *fixture) code(key string) string {
	d.t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(key, " ", ""))
	must(d.t, err)
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(d.now.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1000000)
}

// enrol gives a signed-in operator a second factor and returns its key.
func (d *fixture) enrol(v operators.SignedIn, password string) string {
	d.t.Helper()
	must(d.t, d.ProposeTOTP(d.t.Context(), v, password, "7"))
	proposal, waits, err := d.ProposedTOTP(d.t.Context(), v)
	must(d.t, err)
	if !waits {
		d.t.Fatal("no second factor is proposed")
	}
	must(d.t, d.ConfirmTOTP(d.t.Context(), v, d.code(proposal.Key), "7"))
	return proposal.Key
}

func TestSigningIn(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("Zoe", operators.Viewer)
		for _, wrong := range [][2]string{{"zoe", "wrong"}, {"zoe", ""}, {"nobody", password}, {"", ""}, {"zoe", strings.Repeat("x", 2000)}} {
			_, err := d.signIn(wrong[0], wrong[1], "192.0.2.1")
			wantError(t, err, operators.ErrRefused)
		}
		pass, v := d.inside(" ZOE ", password)
		if v.Operator.Name != "zoe" || v.HasSecondFactor() || !v.Owns(v.FormToken()) || v.Owns("") {
			t.Errorf("visitor %+v", v)
		}
		if right, err := d.Check(t.Context(), "zoe", password); err != nil || !right {
			t.Errorf("%t, %v", right, err)
		}
		must(t, d.SignOut(t.Context(), v, "7"))
		_, err := d.ResumeSession(t.Context(), pass.Token)
		wantError(t, err, operators.ErrNoSession)
		wantError(t, d.SignOut(t.Context(), v, "7"), passerelle.NotFound)
		want := []string{"sign in refused", "sign in refused", "sign in refused", "sign in", "sign out"}
		if diff := cmp.Diff(want, d.acts("zoe")); diff != "" {
			t.Errorf("on record: %s", diff)
		}
	})
}

func TestFailuresLockOutWhereTheyAreMade(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		for range 5 {
			_, err := d.signIn("zoe", "wrong", "192.0.2.1")
			wantError(t, err, operators.ErrRefused)
		}
		_, err := d.signIn("zoe", password, "192.0.2.1")
		wantError(t, err, operators.ErrLocked)
		_, err = d.signIn("zoe", password, "198.51.100.1") // another address
		must(t, err)
		d.now = d.now.Add(15*time.Minute - time.Second)
		_, err = d.signIn("zoe", password, "192.0.2.1")
		wantError(t, err, operators.ErrLocked)
		d.now = d.now.Add(time.Second)
		d.inside("zoe", password)
		for range 5 {
			_, err = d.signIn("zoe", "wrong", "192.0.2.1")
			wantError(t, err, operators.ErrRefused)
		}
		_, password, err = d.ResetPassword(t.Context(), "zoe")
		must(t, err)
		d.inside("zoe", password)
	})
}

// TestANameThatManyGuessIsLocked checks that many attempts from different addresses lock a name.
// Attempts from an address that is already locked must not count for the name.
func TestANameThatManyGuessIsLocked(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		for from := range 20 {
			for range 5 {
				_, err := d.signIn("zoe", tooLong, fmt.Sprintf("192.0.2.%d", from))
				wantError(t, err, operators.ErrRefused)
			}
			if from > 3 {
				continue
			}
			_, err := d.signIn("zoe", tooLong, fmt.Sprintf("192.0.2.%d", from))
			wantError(t, err, operators.ErrLocked)
		}
		_, err := d.signIn("zoe", password, "198.51.100.1")
		wantError(t, err, operators.ErrLocked)
		_, password, err = d.ResetPassword(t.Context(), "zoe")
		must(t, err)
		d.inside("zoe", password)
	})
}

func TestAttemptsAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for i := range 10 {
			_, err := d.signIn(fmt.Sprint("name", i), tooLong, fmt.Sprintf("2001:db8:0:%x::1", i))
			wantError(t, err, operators.ErrRefused)
		}
		remembered := func(want int64) {
			t.Helper()
			must(t, d.Forget(t.Context()))
			if n, err := operatorstore.From(d.DB).CountSignIns(t.Context()); err != nil || n != want {
				t.Errorf("%d are remembered, want %d; %v", n, want, err)
			}
		}
		remembered(30)
		d.now = d.now.Add(15 * time.Minute)
		remembered(0)
	})
}

// TestUnknownNamesAreCounted tries unknown names from many addresses. The audit log has a row for
// each of the first attempts of an hour, and one row with the number of the others.
func TestUnknownNamesAreCounted(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.operator("zoe", operators.Viewer)
		tries := 0
		attempt := func(n int) {
			t.Helper()
			for range n {
				tries++
				_, err := d.signIn(fmt.Sprint("name", tries), tooLong, fmt.Sprintf("2001:db8:0:%x::1", tries))
				wantError(t, err, operators.ErrRefused)
			}
		}
		recorded := func(rows int, counted ...int64) {
			t.Helper()
			all, err := operatorstore.From(d.DB).Audits(t.Context(), operatorstore.AuditFilter{NoDomain: true, Refused: true}, store.Window{Limit: 1000})
			must(t, err)
			var sums []int64
			for _, a := range all {
				if a.Act != "sign in" || a.Operator != 0 {
					t.Errorf("recorded %+v", a)
				}
				if a.Subject != "" {
					sums = append(sums, a.SubjectID)
				}
			}
			if len(all)-len(sums) != rows || !slices.Equal(sums, counted) {
				t.Errorf("%d rows and the counts %v, want %d and %v", len(all)-len(sums), sums, rows, counted)
			}
		}
		attempt(99)
		recorded(99)
		attempt(24)
		recorded(100)
		must(t, d.Forget(t.Context()))
		recorded(100)
		d.now = d.now.Add(time.Hour)
		must(t, d.Forget(t.Context()))
		must(t, d.Forget(t.Context()))
		recorded(100, 23)
		attempt(103)
		recorded(200, 23)
		d.now = d.now.Add(time.Hour)
		attempt(1)
		recorded(201, 3, 23)
		_, err := d.signIn("zoe", tooLong, "192.0.2.1")
		wantError(t, err, operators.ErrRefused)
		if got := d.acts("zoe"); !slices.Contains(got, "sign in refused") {
			t.Errorf("of an operator is recorded: %v", got)
		}
	})
}

// TestChangesDuringSignInApply changes an operator during the sign-in. The change must apply
// to the session that the sign-in would make.
func TestChangesDuringSignInApply(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for name, c := range map[string]struct {
			meanwhile func()
			want      error
		}{
			"disabled": {func() { _, err := d.Disable(t.Context(), "zoe"); must(t, err) }, operators.ErrRefused},
			"reset":    {func() { _, _, err := d.ResetPassword(t.Context(), "zoe"); must(t, err) }, operators.ErrRefused},
			"nothing":  {func() {}, nil},
		} {
			if _, err := operatorstore.From(d.DB).OperatorByName(t.Context(), "zoe"); err != nil {
				d.operator("zoe", operators.Viewer)
			}
			_, err := d.Enable(t.Context(), "zoe")
			must(t, err)
			_, password, err := d.ResetPassword(t.Context(), "zoe")
			must(t, err)
			// The service reads the clock three times to count the attempt. At the next reading, it
			// has recognised the operator.
			d.meanwhile, d.after = c.meanwhile, 3
			pass, err := d.signIn("zoe", password, "192.0.2.1")
			if !errors.Is(err, c.want) || d.meanwhile != nil {
				t.Errorf("%s meanwhile: %v", name, err)
			}
			if _, err := d.ResumeSession(t.Context(), pass.Token); (err == nil) != (c.want == nil) {
				t.Errorf("%s meanwhile, and the session: %v", name, err)
			}
		}
	})
}

func TestAnAddressThatGuessesNamesIsLockedOut(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		for i := range 30 {
			_, err := d.signIn(fmt.Sprint("name", i), "wrong", fmt.Sprintf("2001:db8::%x", i))
			wantError(t, err, operators.ErrRefused)
		}
		_, err := d.signIn("zoe", password, "2001:db8::ffff")
		wantError(t, err, operators.ErrLocked)
		_, err = d.signIn("zoe", password, "2001:db8:0:1::1")
		must(t, err)
	})
}

func TestASessionEnds(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		for name, end := range map[string]func(operators.IssuedSession, operators.SignedIn){
			"by rest":       func(operators.IssuedSession, operators.SignedIn) { d.now = d.now.Add(time.Hour) },
			"by revocation": func(_ operators.IssuedSession, v operators.SignedIn) { must(t, d.Revoke(t.Context(), v, v.ID, "7")) },
			"by a new password": func(_ operators.IssuedSession, _ operators.SignedIn) {
				var err error
				_, password, err = d.ResetPassword(t.Context(), "zoe")
				must(t, err)
			},
			"when disabled": func(operators.IssuedSession, operators.SignedIn) {
				_, err := d.Disable(t.Context(), "zoe")
				must(t, err)
				_, err = d.signIn("zoe", password, "192.0.2.1")
				wantError(t, err, operators.ErrRefused)
				_, err = d.Enable(t.Context(), "zoe")
				must(t, err)
			},
			"by age": func(p operators.IssuedSession, _ operators.SignedIn) {
				for range 24 {
					if _, err := d.ResumeSession(t.Context(), p.Token); err != nil {
						t.Fatalf("a session in use ended at %v: %v", d.now, err)
					}
					d.now = d.now.Add(30 * time.Minute)
				}
			},
		} {
			pass, v := d.inside("zoe", password)
			end(pass, v)
			if _, err := d.ResumeSession(t.Context(), pass.Token); !errors.Is(err, operators.ErrNoSession) {
				t.Errorf("%s: %v", name, err)
			}
		}
		other := d.operator("adam", operators.Viewer)
		_, v := d.inside("zoe", password)
		_, foreign := d.inside("adam", other)
		wantError(t, d.Revoke(t.Context(), v, foreign.ID, "7"), passerelle.NotFound)
	})
}

// TestUnusedSessionsAreNotListed lets a session end without use. The list of sessions must not show
// it any more, although nobody has revoked it.
func TestUnusedSessionsAreNotListed(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		_, unused := d.inside("zoe", password)
		d.now = d.now.Add(time.Hour - time.Second)
		_, v := d.inside("zoe", password)
		listed := func(want ...int64) {
			t.Helper()
			all, err := d.Sessions(t.Context(), v)
			must(t, err)
			var ids []int64
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
		}
		listed(v.ID, unused.ID)
		d.now = d.now.Add(time.Second)
		listed(v.ID)
	})
}

func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Acting)
		_, v := d.inside("zoe", password)
		older, _ := d.inside("zoe", password)
		wantError(t, d.ProposeTOTP(t.Context(), v, "wrong", "7"), operators.ErrRefused)
		wantError(t, d.ConfirmTOTP(t.Context(), v, "123456", "7"), passerelle.Conflict)
		key := d.enrol(v, password)
		_, err := d.ResumeSession(t.Context(), older.Token)
		wantError(t, err, operators.ErrNoSession)

		pass, err := d.signIn("zoe", password, "192.0.2.1")
		must(t, err)
		_, err = d.ResumeSession(t.Context(), pass.Token)
		wantError(t, err, operators.ErrNoSession)
		second := func(code string) (operators.IssuedSession, error) {
			return d.SecondFactor(t.Context(), pass.Token, code, "7")
		}
		_, err = second(d.code(key)) // this code has confirmed the second factor
		wantError(t, err, operators.ErrRefused)
		_, err = second("")
		wantError(t, err, operators.ErrRefused)
		d.now = d.now.Add(time.Minute)
		in, err := second(" " + d.code(key)[:3] + " " + d.code(key)[3:])
		must(t, err)
		v, err = d.ResumeSession(t.Context(), in.Token)
		must(t, err)
		if !v.HasSecondFactor() || in.Token == pass.Token {
			t.Errorf("visitor %+v under token %q", v, in.Token)
		}
		_, err = second(d.code(key))
		wantError(t, err, operators.ErrNoSession)
		want := []string{
			"sign in", "sign in", "set up second factor refused", "set up second factor",
			"second factor refused", "second factor refused", "sign in",
		}
		if diff := cmp.Diff(want, d.acts("zoe")); diff != "" {
			t.Errorf("on record: %s", diff)
		}
		_, err = d.ResetTOTP(t.Context(), "zoe")
		must(t, err)
		d.inside("zoe", password)
	})
}

func TestCodesAreNotGuessed(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Acting)
		_, v := d.inside("zoe", password)
		key := d.enrol(v, password)
		d.now = d.now.Add(time.Minute)
		refused := 0
		for range 20 {
			pass, err := d.signIn("zoe", password, "192.0.2.1")
			if errors.Is(err, operators.ErrLocked) {
				break
			}
			must(t, err)
			if _, err = d.SecondFactor(t.Context(), pass.Token, "no", "7"); errors.Is(err, operators.ErrRefused) {
				refused++
			}
		}
		if refused != 5 {
			t.Errorf("%d codes were tried, want 5", refused)
		}
		d.now = d.now.Add(15 * time.Minute)
		pass, err := d.signIn("zoe", password, "192.0.2.1")
		must(t, err)
		d.now = d.now.Add(5 * time.Minute)
		_, err = d.SecondFactor(t.Context(), pass.Token, d.code(key), "7")
		wantError(t, err, operators.ErrNoSession)
	})
}

func TestChangingThePassword(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		other, _ := d.inside("zoe", password)
		own, v := d.inside("zoe", password)
		for next, field := range map[string]string{"short": "password", "my name is Zoe!": "password", strings.Repeat("x", 2000): "password"} {
			var wrong *passerelle.Error
			if err := d.ChangePassword(t.Context(), v, password, next, "7"); !errors.As(err, &wrong) || wrong.Field != field {
				t.Errorf("%q: %v", next, err)
			}
		}
		wantError(t, d.ChangePassword(t.Context(), v, "wrong", "correct horse battery", "7"), operators.ErrRefused)
		must(t, d.ChangePassword(t.Context(), v, password, "correct horse battery", "7"))
		_, err := d.ResumeSession(t.Context(), other.Token)
		wantError(t, err, operators.ErrNoSession)
		_, err = d.ResumeSession(t.Context(), own.Token)
		must(t, err)
		_, err = d.signIn("zoe", password, "192.0.2.1")
		wantError(t, err, operators.ErrRefused)
		d.inside("zoe", "correct horse battery")
		sessions, err := d.Sessions(t.Context(), v)
		if err != nil || len(sessions) != 2 {
			t.Errorf("%d sessions, %v", len(sessions), err)
		}
	})
}

// TestChangesDuringAPasswordChangeApply ends the session during a change of the password. The change
// must then fail, because it could replace the password that a command has set.
func TestChangesDuringAPasswordChangeApply(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		const chosen = "correct horse battery"
		for name, meanwhile := range map[string]func(operators.SignedIn){
			"reset":    func(operators.SignedIn) { _, _, err := d.ResetPassword(t.Context(), "zoe"); must(t, err) },
			"disabled": func(operators.SignedIn) { _, err := d.Disable(t.Context(), "zoe"); must(t, err) },
			"revoked":  func(v operators.SignedIn) { must(t, d.Revoke(t.Context(), v, v.ID, "7")) },
		} {
			_, v := d.inside("zoe", password)
			before := d.acts("zoe")
			meanwhile(v)
			wantError(t, d.ChangePassword(t.Context(), v, password, chosen, "7"), operators.ErrNoSession)
			if slices.Contains(d.acts("zoe")[len(before):], "change password") {
				t.Errorf("%s meanwhile, and recorded is %q", name, d.acts("zoe"))
			}
			_, err := d.Enable(t.Context(), "zoe")
			must(t, err)
			_, err = d.signIn("zoe", chosen, "192.0.2.1")
			wantError(t, err, operators.ErrRefused)
			_, password, err = d.ResetPassword(t.Context(), "zoe")
			must(t, err)
		}
	})
}

func TestInvalidOperatorsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.operator("zoe", operators.Viewer)
		for _, wrong := range []struct {
			name  string
			role  operators.Role
			field string
		}{{"", "viewer", "name"}, {"-zoe", "viewer", "name"}, {"a b", "viewer", "name"}, {"ZOE", "viewer", "name"}, {"adam", "owner", "role"}, {strings.Repeat("x", 65), "viewer", "name"}} {
			var message *passerelle.Error
			if _, _, err := d.Create(t.Context(), wrong.name, wrong.role); !errors.As(err, &message) || message.Field != wrong.field {
				t.Errorf("%q %q: %v", wrong.name, wrong.role, err)
			}
		}
		_, err := d.Disable(t.Context(), "adam")
		wantError(t, err, passerelle.NotFound)
		all, err := d.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestANewRoleAppliesAtOnce changes the role of a signed-in operator. The session must have the new
// rights, and no others.
func TestANewRoleAppliesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		pass, v := d.inside("zoe", d.operator("zoe", operators.Administrator))
		for _, step := range []struct {
			role          operators.Role
			setUp, reveal bool
		}{{operators.Administrator, true, true}, {operators.Acting, false, true}, {operators.Viewer, false, false}, {operators.Administrator, true, true}} {
			o, err := d.SetRole(t.Context(), " Zoe", step.role)
			must(t, err)
			v, err = d.ResumeSession(t.Context(), pass.Token)
			must(t, err)
			if o.Role != string(step.role) || v.May(operators.SetUp) != step.setUp || v.May(operators.Reveal) != step.reveal {
				t.Errorf("as %s, the operator is %+v, in the session %+v", step.role, o, v.Operator)
			}
		}
		_, err := d.SetRole(t.Context(), "zoe", "owner")
		wantError(t, err, passerelle.Invalid)
		_, err = d.SetRole(t.Context(), "nobody", operators.Viewer)
		wantError(t, err, passerelle.NotFound)
		all, err := operatorstore.From(d.DB).Audits(t.Context(), operatorstore.AuditFilter{NoDomain: true, Subject: "operator", SubjectID: int64(v.Operator.ID)}, store.Window{Limit: 10})
		must(t, err)
		var acts []string
		for _, one := range all {
			if strings.HasPrefix(one.Act, "change role") {
				acts = append(acts, one.Act)
			}
		}
		slices.Sort(acts) // the first role is the same as before
		if want := []string{"change role to administrator", "change role to operator", "change role to viewer"}; !slices.Equal(acts, want) {
			t.Errorf("on record are %q, want %q", acts, want)
		}
	})
}

func TestAbilitiesGrowWithTheRole(t *testing.T) {
	all := []operators.Ability{operators.Simulate, operators.Act, operators.Reveal}
	for role, want := range map[operators.Role]string{"viewer": "", "developer": "simulate", "operator": "simulate act reveal", "administrator": "simulate act reveal", "": ""} {
		v := operators.SignedIn{Operator: operatorstore.Operator{Role: string(role)}}
		var may []string
		for _, ability := range all {
			if v.May(ability) {
				may = append(may, string(ability))
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%s may %q, want %q", role, got, want)
		}
	}
}

func TestAProviderVouchesForOperators(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Viewer)
		d.operator("adam", operators.Viewer)
		const issuer = "https://id.example"
		vouched := func(v operators.ProviderIdentity) (operators.IssuedSession, error) {
			v.Issuer, v.Request = issuer, "7"
			return d.SignInByIdentity(t.Context(), v)
		}
		inside := func(v operators.ProviderIdentity) operators.SignedIn {
			t.Helper()
			pass, err := vouched(v)
			must(t, err)
			who, err := d.ResumeSession(t.Context(), pass.Token)
			must(t, err)
			return who
		}
		_, err := vouched(operators.ProviderIdentity{Subject: "1"})
		wantError(t, err, operators.ErrUnlinked)
		_, err = vouched(operators.ProviderIdentity{Subject: "1", Name: "nobody"})
		wantError(t, err, operators.ErrUnlinked)
		if who := inside(operators.ProviderIdentity{Subject: "1", Name: " Zoe "}); who.Operator.Name != "zoe" || who.HasSecondFactor() {
			t.Errorf("%+v", who)
		}
		// The operator is linked now. The service must find the operator by identity and not by
		// name.
		if who := inside(operators.ProviderIdentity{Subject: "1", Name: "adam", Twice: true}); who.Operator.Name != "zoe" || !who.HasSecondFactor() {
			t.Errorf("%+v", who)
		}
		_, err = vouched(operators.ProviderIdentity{Subject: "2", Name: "zoe"})
		wantError(t, err, operators.ErrUnlinked)
		_, err = d.Link(t.Context(), "adam", issuer, "1")
		wantError(t, err, passerelle.Invalid)
		_, err = d.Link(t.Context(), "adam", issuer, "")
		wantError(t, err, passerelle.Invalid)
		_, err = d.Link(t.Context(), "adam", issuer, "2")
		must(t, err)
		if who := inside(operators.ProviderIdentity{Subject: "2"}); who.Operator.Name != "adam" {
			t.Errorf("%+v", who)
		}
		d.enrol(inside(operators.ProviderIdentity{Subject: "1"}), password)
		pass, err := vouched(operators.ProviderIdentity{Subject: "1"})
		must(t, err)
		_, err = d.ResumeSession(t.Context(), pass.Token) // the service asks for its own second factor
		wantError(t, err, operators.ErrNoSession)
		inside(operators.ProviderIdentity{Subject: "1", Twice: true})
		_, err = d.Disable(t.Context(), "zoe")
		must(t, err)
		_, err = vouched(operators.ProviderIdentity{Subject: "1", Twice: true})
		wantError(t, err, operators.ErrRefused)
		_, err = d.Unlink(t.Context(), "adam")
		must(t, err)
		_, err = vouched(operators.ProviderIdentity{Subject: "2"})
		wantError(t, err, operators.ErrUnlinked)
	})
}

// TestOperatorDisabledDuringProviderSignIn disables an operator during a sign-in with a provider.
// The operator must get no session, and must not be linked.
func TestOperatorDisabledDuringProviderSignIn(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.operator("zoe", operators.Viewer)
		d.meanwhile = func() { _, err := d.Disable(t.Context(), "zoe"); must(t, err) }
		d.after = 1
		_, err := d.SignInByIdentity(t.Context(), operators.ProviderIdentity{Issuer: "i", Subject: "s", Name: "zoe"})
		wantError(t, err, operators.ErrRefused)
		if _, err := operatorstore.From(d.DB).OperatorByIdentity(t.Context(), "i", "s"); !errors.Is(err, store.ErrNotFound) || d.meanwhile != nil {
			t.Errorf("%v", err)
		}
	})
}

// TestOperatorUnlinkedDuringProviderSignIn unlinks an operator during a sign-in with a provider.
// The operator must get no session, and earlier sessions must end.
func TestOperatorUnlinkedDuringProviderSignIn(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.operator("zoe", operators.Viewer)
		_, err := d.Link(t.Context(), "zoe", "i", "s")
		must(t, err)
		vouched := func() (operators.IssuedSession, error) {
			return d.SignInByIdentity(t.Context(), operators.ProviderIdentity{Issuer: "i", Subject: "s", Twice: true})
		}
		before, err := vouched()
		must(t, err)
		d.meanwhile = func() { _, err := d.Unlink(t.Context(), "zoe"); must(t, err) }
		_, err = vouched()
		wantError(t, err, operators.ErrRefused)
		if d.meanwhile != nil {
			t.Error("nobody was unlinked meanwhile")
		}
		open, err := operatorstore.From(d.DB).Sessions(t.Context(), before.Operator, d.now, time.Time{}, 10)
		must(t, err)
		if len(open) != 0 {
			t.Errorf("open are %+v", open)
		}
	})
}

// TestAProposedSecondFactorEnds checks that only the session that proposed a second factor can
// confirm it, and only for ten minutes.
func TestAProposedSecondFactorEnds(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		password := d.operator("zoe", operators.Acting)
		_, v := d.inside("zoe", password)
		_, other := d.inside("zoe", password)
		propose := func() string {
			t.Helper()
			must(t, d.ProposeTOTP(t.Context(), v, password, "7"))
			proposal, waits, err := d.ProposedTOTP(t.Context(), v)
			must(t, err)
			if !waits {
				t.Fatal("no second factor is proposed")
			}
			return proposal.Key
		}
		key := propose()
		if _, waits, err := d.ProposedTOTP(t.Context(), other); waits || err != nil {
			t.Errorf("another session sees the proposal: %v", err)
		}
		wantError(t, d.ConfirmTOTP(t.Context(), other, d.code(key), "7"), passerelle.Conflict)
		must(t, d.WithdrawTOTP(t.Context(), v))
		wantError(t, d.ConfirmTOTP(t.Context(), v, d.code(key), "7"), passerelle.Conflict)

		key = propose()
		d.now = d.now.Add(10 * time.Minute)
		wantError(t, d.ConfirmTOTP(t.Context(), v, d.code(key), "7"), passerelle.Conflict)
		key = propose()
		d.now = d.now.Add(10*time.Minute - time.Second)
		must(t, d.ConfirmTOTP(t.Context(), v, d.code(key), "7"))
	})
}
