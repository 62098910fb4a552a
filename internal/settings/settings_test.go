package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of a machine that has none

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

var now = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)

// open is a migrated store with one domain.
func open(t *testing.T) (*store.DB, passerelle.DomainID) {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := passerelle.Domain{Name: "bank", Kind: passerelle.Sandbox, BaseURL: "http://bank.example/2.0", Created: now}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, "bank.example") }); err != nil {
		t.Fatal(err)
	}
	return db, d.ID
}

// TestCheck gives every key of the catalogue values that it takes and values
// that it does not.
func TestCheck(t *testing.T) {
	tests := map[string]struct{ good, bad []string }{
		settings.Timezone:         {[]string{"UTC", "Europe/Paris", "America/St_Johns"}, []string{"", "Local", "Europe/Paname", "../etc/passwd", "CEST+2", "UTC\x00"}},
		settings.ServiceTokenLife: {[]string{"1", "30", "1440"}, []string{"", "0", "1441", "-5", "1.5", "1e3", "99999999999999999999"}},
		settings.MaxAmount:        {[]string{"0", "1000", "999999999999"}, []string{"", "-1", "1.5", "1e3", "01", "none"}},
		settings.PeriodicEnabled:  {[]string{"0", "1"}, []string{"", "2", "true", "01"}},
		settings.PlainFields:      {[]string{"0", "1"}, []string{"", "yes"}},
		settings.AutoConfirmation: {[]string{"0", "1"}, []string{"", "no"}},
		settings.ExpireDays:       {[]string{"0", "30", "36500"}, []string{"", "-1", "36501", "1.5"}},
		settings.FlushInterval:    {[]string{"1", "86400"}, []string{"0", "86401", "1m"}},
		settings.DeliveryTimeout:  {[]string{"1", "300"}, []string{"0", "301"}},
		settings.SignatureAliases: {[]string{"", "BI", "BI,My-Prefix", "BI, X"}, []string{"B:I", "é", "BI\r\nX", strings.Repeat("x", 33), strings.Repeat("x,", 2049)}},
	}
	for _, key := range settings.Keys() {
		test, tested := tests[key.Name]
		if !tested || key.Help == "" {
			t.Errorf("%s has no cases here, or no help", key.Name)
		}
		for _, value := range append(test.good, key.Default) {
			if err := settings.Check(key.Name, value); err != nil {
				t.Errorf("%s = %q: %v", key.Name, value, err)
			}
		}
		for _, value := range test.bad {
			wantInvalid(t, settings.Check(key.Name, value), key.Name)
		}
	}
	wantInvalid(t, settings.Check("api.timezon", "UTC"), "api.timezon")
	wantInvalid(t, settings.Check("", ""), "")
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *passerelle.Error
	if !errors.As(err, &refusal) || refusal.Kind != passerelle.Invalid || refusal.Field != field {
		t.Errorf("error %v, want an invalid value of %q", err, field)
	}
}

func TestKeysAreSorted(t *testing.T) {
	var names []string
	for _, key := range settings.Keys() {
		names = append(names, key.Name)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("keys %q", names)
	}
}

func TestDefaults(t *testing.T) {
	v := settings.Values{}
	got := []any{v.Text(settings.MaxAmount), v.On(settings.PeriodicEnabled), v.Int(settings.ServiceTokenLife), v.Seconds(settings.DeliveryTimeout), v.Location().String(), v.List(settings.SignatureAliases)}
	want := []any{"0", false, int64(30), 10 * time.Second, "UTC", []string{"BI"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestValuesThatSlippedIn: rows written by hand or by another version do not
// take the service down.
func TestValuesThatSlippedIn(t *testing.T) {
	v := settings.Values{settings.Timezone: "Nowhere", settings.DeliveryTimeout: "soon", settings.PeriodicEnabled: "yes"}
	if v.Location() != time.UTC || v.Seconds(settings.DeliveryTimeout) != 10*time.Second || v.On(settings.PeriodicEnabled) {
		t.Errorf("%v, %v, %v", v.Location(), v.Seconds(settings.DeliveryTimeout), v.On(settings.PeriodicEnabled))
	}
}

func TestSetAndLoad(t *testing.T) {
	db, domain := open(t)
	given := map[string]string{settings.Timezone: "Europe/Paris", settings.PeriodicEnabled: "1", settings.SignatureAliases: "BI, OLD", settings.FlushInterval: "5"}
	if err := settings.Set(t.Context(), db, domain, given, now); err != nil {
		t.Fatal(err)
	}
	v, err := settings.Load(t.Context(), &db.Reader, domain)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Values(given), v); diff != "" {
		t.Error(diff)
	}
	if !v.On(settings.PeriodicEnabled) || v.Int(settings.FlushInterval) != 5 || !slices.Equal(v.List(settings.SignatureAliases), []string{"BI", "OLD"}) {
		t.Errorf("values %v", v)
	}
	if at := now.In(v.Location()).Format(time.DateTime); at != "2026-11-21 16:04:05" {
		t.Errorf("in Paris it is %s", at)
	}
}

func TestOneBadValueSetsNothing(t *testing.T) {
	db, domain := open(t)
	for range 10 { // whatever the order of the map
		err := settings.Set(t.Context(), db, domain, map[string]string{settings.Timezone: "UTC", settings.PlainFields: "no", settings.MaxAmount: "x"}, now)
		wantInvalid(t, err, settings.PlainFields)
	}
	v, err := settings.Load(t.Context(), &db.Reader, domain)
	if err != nil || len(v) != 0 {
		t.Errorf("values %v, %v", v, err)
	}
}

func TestLoadFromAClosedStore(t *testing.T) {
	db, domain := open(t)
	db.Close()
	if v, err := settings.Load(t.Context(), &db.Reader, domain); err == nil {
		t.Errorf("a closed store has settings %v", v)
	}
}
