package access_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

// TestSimultaneousChangesOfAnApplication changes an application in several ways at the same time.
// No change may undo another one.
func TestSimultaneousChangesOfAnApplication(t *testing.T) {
	onEach(t, func(t *testing.T, d *fixture) {
		var fresh string
		for attempt := range 8 {
			name := fmt.Sprint("shop ", attempt)
			changes := []access.ClientUpdate{
				{ResetSecret: true},
				{Name: &name},
				{RedirectURIs: []string{fmt.Sprintf("https://shop.example/%d", attempt)}},
				{Config: map[string]string{name: "x"}, MergeConfig: true},
				{Config: map[string]string{name + "b": "y"}, MergeConfig: true},
				{RemoveConfig: []string{fmt.Sprint("shop ", attempt-1)}},
			}
			var all sync.WaitGroup
			for i, change := range changes {
				all.Go(func() {
					_, secret, err := d.Update(t.Context(), d.domain, d.client.ID, change)
					if err != nil {
						t.Error(err)
					}
					if i == 0 {
						fresh = secret
					}
				})
			}
			all.Wait()
			got, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: fmt.Sprint(d.client.ID), Secret: fresh, Address: fmt.Sprint(attempt)})
			if err != nil {
				t.Fatalf("attempt %d: the new secret: %v", attempt, err)
			}
			if got.Name != name || len(got.RedirectURIs) != 1 || got.RedirectURIs[0] != changes[2].RedirectURIs[0] || len(got.Config) != attempt+2 {
				t.Errorf("attempt %d: %+v", attempt, got)
			}
		}
	})
}

// TestNoTokenOutlivesItsApplication deletes an application after it has proved its secret. The
// application must get no token of any kind.
func TestNoTokenOutlivesItsApplication(t *testing.T) {
	onEach(t, func(t *testing.T, d *fixture) {
		u, grant := d.user(true)
		proved, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: fmt.Sprint(d.client.ID), Secret: d.secret})
		if err != nil {
			t.Fatal(err)
		}
		maker, err := d.Authenticate(t.Context(), d.domain, grant.Text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Delete(t.Context(), d.domain, d.client.ID); err != nil {
			t.Fatal(err)
		}
		_, err = d.IssueService(t.Context(), proved, passerelle.Scopes{passerelle.ScopePaymentsAdmin})
		wantError(t, err, passerelle.Unauthenticated, "invalidToken")
		_, err = d.IssueCode(t.Context(), maker, false)
		wantError(t, err, passerelle.Unauthenticated, "invalidToken")
		err = d.DB.Write(t.Context(), func(tx *store.Tx) error {
			_, err := d.GrantUser(tx, proved.ID, u)
			return err
		})
		wantError(t, err, passerelle.Unauthenticated, "invalidToken")
	})
}

// TestEachChangeOfAClientIsRecorded: each field of a change leads to an act in the audit log, except
// MergeConfig, which only says how Config applies.
func TestEachChangeOfAClientIsRecorded(t *testing.T) {
	all := reflect.TypeFor[access.ClientUpdate]()
	for i := range all.NumField() {
		var change access.ClientUpdate
		switch field := reflect.ValueOf(&change).Elem().Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Map:
			field.Set(reflect.MakeMap(field.Type()))
		default:
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
		acts := change.Acts(func(act, subject string) store.Audit { return store.Audit{Act: act, Subject: subject} })
		want := 1
		if all.Field(i).Name == "MergeConfig" {
			want = 0
		}
		if len(acts) != want {
			t.Errorf("a change of %s has the acts %+v, want %d", all.Field(i).Name, acts, want)
		}
	}
}
