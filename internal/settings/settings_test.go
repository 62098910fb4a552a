package settings_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // time zones, for a machine without them

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

var now = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)

func open(t *testing.T) (*store.DB, passerelle.DomainID) {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := passerelle.Domain{Name: "bank", Kind: passerelle.Sandbox, BaseURL: "http://bank.example/2.0", Created: now}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, "bank.example") }); err != nil {
		t.Fatal(err)
	}
	return db, d.ID
}

func TestCheck(t *testing.T) {
	tests := map[string]struct{ good, bad []string }{
		settings.Timezone:          {[]string{"UTC", "Europe/Paris", "America/St_Johns"}, []string{"", "Local", "Europe/Paname", "../etc/passwd", "CEST+2", "UTC\x00"}},
		settings.SignedAnswers:     {[]string{"0", "1"}, []string{"", "yes"}},
		settings.QueryToken:        {[]string{"0", "1"}, []string{"", "yes"}},
		settings.ServiceTokenLife:  {[]string{"1", "30", "1440"}, []string{"", "0", "1441", "-5", "1.5", "1e3", "99999999999999999999"}},
		settings.UserTokenLife:     {[]string{"1", "30", "1440"}, []string{"", "0", "1441"}},
		settings.SignedTokenLife:   {[]string{"1", "43200", "5256000"}, []string{"", "0", "5256001"}},
		settings.BlockCount:        {[]string{"0", "5", "1000"}, []string{"", "-1", "1001"}},
		settings.BlockSeconds:      {[]string{"1", "60", "86400"}, []string{"", "0", "86401"}},
		settings.RateEnabled:       {[]string{"", "0", "1"}, []string{"2", "true"}},
		settings.TokenRate:         {[]string{"0", "1200", "1000000"}, []string{"", "-1", "1000001", "1.5"}},
		settings.AddressRate:       {[]string{"0", "6000", "1000000"}, []string{"", "-1", "1000001", "1.5"}},
		settings.FormRate:          {[]string{"0", "60", "1000000"}, []string{"", "-1", "1000001", "1.5"}},
		settings.MaxAmount:         {[]string{"0", "1000", "999999999999"}, []string{"", "-1", "1.5", "1e3", "01", "none"}},
		settings.PeriodicEnabled:   {[]string{"0", "1"}, []string{"", "2", "true", "01"}},
		settings.PlainFields:       {[]string{"0", "1"}, []string{"", "yes"}},
		settings.AutoConfirmation:  {[]string{"0", "1"}, []string{"", "no"}},
		settings.ExpireDays:        {[]string{"0", "30", "36500"}, []string{"", "-1", "36501", "1.5"}},
		settings.FlushInterval:     {[]string{"1", "86400"}, []string{"0", "86401", "1m"}},
		settings.DeliveryTimeout:   {[]string{"1", "300"}, []string{"0", "301"}},
		settings.SignatureAliases:  {[]string{"", "BI", "BI,My-Prefix", "BI, X", "7"}, []string{"-", "BI,-X", "B:I", "é", "BI\r\nX", strings.Repeat("x", 33), strings.Repeat("x,", 2049)}},
		settings.Systematic:        {[]string{"", "0", "1"}, []string{"2", "true"}},
		settings.CallbackGrace:     {[]string{"0", "5", "1440"}, []string{"", "-1", "1441", "05"}},
		settings.Authorities:       {[]string{"", authority(t, true), authority(t, true) + "\n" + authority(t, true)}, []string{"x", authority(t, false), authority(t, true) + "x", strings.Replace(authority(t, true), "CERTIFICATE", "PRIVATE KEY", 2), strings.Replace(authority(t, true), "M", "A", 1)}},
		settings.Compression:       {[]string{"0", "1"}, []string{"", "gzip"}},
		settings.AutosyncEnabled:   {[]string{"0", "1"}, []string{"", "yes"}},
		settings.AutosyncFrequency: {[]string{"1", "0.5", "7"}, []string{"", "0", "-1", "1e1", "daily", ".5", "1.", "01", "00.50"}},
		settings.RetryWrongpass:    {[]string{"0", "1"}, []string{"", "2"}},
		settings.ConnectionExpire:  {[]string{"1", "120", "525600"}, []string{"", "0", "525601", "1.5"}},
		settings.OwnerCertificate:  {[]string{"0", "1"}, []string{"", "yes"}},
		settings.Favourites: {
			[]string{"", "338178e6-3d01-564f-9a7b-52ca442459bf", "338178E6-3D01-564F-9A7B-52CA442459BF", "338178e6-3d01-564f-9a7b-52ca442459bf, 6d9b2682-5fa0-496c-9a61-950c1cca8bf7"},
			[]string{"40", "338178E6-3D01-564F-9A7B-52CA442459BG", "338178e6", strings.Repeat("338178e6-3d01-564f-9a7b-52ca442459bf,", 21)},
		},
		settings.QuestionsCode:   {[]string{"200", "202", "203", "207", "299"}, []string{"", "199", "204", "205", "206", "300", "2xx"}},
		settings.CFONB:           {[]string{"0", "1"}, []string{"", "true", "120"}},
		settings.AlertsFrequency: {[]string{"1", "0.5", "0.01", "365"}, []string{"", "0", "-1", "1e1", "366", "NaN", "Inf", "0x1", "1_0", "1 "}},
		settings.RetentionDays:   {[]string{"1", "90", "3650"}, []string{"", "0", "3651", "-1", "90.0", "+90"}},
		settings.ManagerEmail: {
			[]string{"", "ops@bank.example", "a@b.example, c@d.example", "a@b.example,c@d.example", strings.Repeat("a@b.example,", 10)},
			[]string{
				"ops", "Ops <ops@bank.example>", "a@b.example; c@d.example", "a@b.example, c", `"a"@b.example`, "a@b.example\r\nBcc: c@d.example",
				strings.Repeat("a", 250) + "@b.example", strings.Repeat("a@b.example,", 11),
			},
		},
		"api.allowed_origins": {
			[]string{
				"", "https://shop.example", "https://a.example,http://localhost:3000", "https://Shop.example", "https://xn--bcher-kva.example",
				"https://a.example:80", "http://a.example:443", "http://127.0.0.1:8080", "http://[::1]:8080",
			},
			[]string{
				"*", "shop.example", "https://a.example/", "https://u@a.example", "ftp://a.example", "https://a.example:443", "http://a.example:80",
				"https://*", "https://*.a.example", "https://a.example:", "https://a.example:0443", "https://a.example:99999", "https://bücher.example",
				"https://a..example", "https://a.example?x", "https://[a.example]", "https://", "null", "https://a.example,https://b.example:443",
			},
		},
	}
	for _, key := range settings.Keys() {
		test, tested := tests[key.Name]
		if key.Unused && !tested {
			test, tested = struct{ good, bad []string }{[]string{"", "anything é"}, []string{"\x00", strings.Repeat("x", 4097)}}, true
		}
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

// authority returns a certificate. isCA says whether it is the certificate of an authority.
func authority(t *testing.T, isCA bool) string {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), BasicConstraintsValid: true, IsCA: isCA}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
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

func TestNamesOfKeys(t *testing.T) {
	for name, want := range map[string]string{
		"biapi.manager.email": settings.ManagerEmail, "biapi.allowed_origins": "api.allowed_origins", "webhooks.compressions.enabled": settings.Compression,
		settings.Compression: settings.Compression, "cat.enabled": "cat.enabled", "mails.reset_password.sender_2": "mails.reset_password.sender_2",
	} {
		if key, known := settings.Find(name); !known || key.Name != want {
			t.Errorf("%s is %q, %v", name, key.Name, known)
		}
	}
	for _, name := range []string{"", "cat", "cat.", "cat..x", "cat.x.", "cat.X", "cat.é", "cats.x", "cat." + strings.Repeat("x", 97), "webhooks.compression", "Api.timezone", "api.timezone "} {
		if key, known := settings.Find(name); known {
			t.Errorf("%q is %q", name, key.Name)
		}
	}
	if got := settings.Matching("Manager"); !slices.Equal(got, []string{settings.ManagerEmail}) {
		t.Errorf("keys with manager: %q", got)
	}
	if len(settings.Matching("")) != len(settings.Keys()) || settings.Matching("no such thing") != nil {
		t.Error("an empty text is in all names, another one in none")
	}
}

func TestDefaults(t *testing.T) {
	v := settings.Values{}
	got := []any{v.Text(settings.MaxAmount), v.On(settings.PeriodicEnabled), v.Int(settings.ServiceTokenLife), v.Seconds(settings.DeliveryTimeout), v.Location().String(), v.List(settings.SignatureAliases), v.Days(settings.AlertsFrequency), v.List(settings.ManagerEmail)}
	want := []any{"0", false, int64(30), 10 * time.Second, "UTC", []string{"BI"}, 24 * time.Hour, []string{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestValuesThatSlippedIn checks that invalid stored values count as their defaults, and that Invalid
// names them. A person or another version may have stored such a value.
func TestValuesThatSlippedIn(t *testing.T) {
	v := settings.Values{
		settings.Timezone: "Nowhere", settings.DeliveryTimeout: "soon", settings.PeriodicEnabled: "yes", settings.AlertsFrequency: "often",
		settings.AutosyncEnabled: "true", settings.AutosyncFrequency: "366", settings.QuestionsCode: "204", settings.BlockSeconds: "0", settings.RateEnabled: "no",
		settings.MaxAmount: "-5", settings.Authorities: authority(t, true) + "x",
	}
	if v.Days(settings.AlertsFrequency) != 24*time.Hour || v.Days(settings.AutosyncFrequency) != 24*time.Hour {
		t.Errorf("%v and %v", v.Days(settings.AlertsFrequency), v.Days(settings.AutosyncFrequency))
	}
	if v.Valid(settings.MaxAmount) != "0" || v.Valid(settings.Authorities) != "" {
		t.Errorf("%s, %q", v.Valid(settings.MaxAmount), v.Valid(settings.Authorities))
	}
	if v.Location() != time.UTC || v.Seconds(settings.DeliveryTimeout) != 10*time.Second || v.Int(settings.QuestionsCode) != 202 || v.Int(settings.BlockSeconds) != 60 {
		t.Errorf("%v, %v, %v, %v", v.Location(), v.Seconds(settings.DeliveryTimeout), v.Int(settings.QuestionsCode), v.Int(settings.BlockSeconds))
	}
	if v.On(settings.PeriodicEnabled) || !v.On(settings.AutosyncEnabled) || !v.Limited(passerelle.Live) || v.Limited(passerelle.Sandbox) {
		t.Errorf("%v, %v, %v", v.On(settings.PeriodicEnabled), v.On(settings.AutosyncEnabled), v.Limited(passerelle.Live))
	}
	invalid := v.Invalid()
	if len(invalid) != len(v) {
		t.Fatalf("%d of %d values are invalid", len(invalid), len(v))
	}
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if !strings.HasPrefix(invalid[i].Error(), "the stored value of "+name+" must be ") {
			t.Errorf("%s: %v", name, invalid[i])
		}
	}
}

// TestValuesOfEarlierVersions checks that values which earlier versions stored still count, although
// Check refuses most of them now. A limit must not disappear because it has decimals.
func TestValuesOfEarlierVersions(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0.5": 12 * time.Hour, ".5": 12 * time.Hour, "1.": 24 * time.Hour, "01": 24 * time.Hour, "007": 168 * time.Hour, "0365": 365 * 24 * time.Hour,
	} {
		v := settings.Values{settings.AlertsFrequency: text, settings.AutosyncFrequency: text}
		if v.Days(settings.AlertsFrequency) != want || v.Days(settings.AutosyncFrequency) != want || v.Invalid() != nil {
			t.Errorf("%q counts as %v and %v, invalid %v", text, v.Days(settings.AlertsFrequency), v.Days(settings.AutosyncFrequency), v.Invalid())
		}
	}
	for _, text := range []string{"", "0", "-1", "366", "daily", "NaN", "Inf"} {
		v := settings.Values{settings.AlertsFrequency: text}
		if v.Days(settings.AlertsFrequency) != 24*time.Hour || len(v.Invalid()) != 1 {
			t.Errorf("%q counts as %v, invalid %v", text, v.Days(settings.AlertsFrequency), v.Invalid())
		}
	}
	if v := (settings.Values{settings.MaxAmount: "1000.50"}); v.Valid(settings.MaxAmount) != "1000.50" || v.Invalid() != nil {
		t.Errorf("the limit is %s, invalid %v", v.Valid(settings.MaxAmount), v.Invalid())
	}
}

// TestWordsThatSlippedIn checks that an invalid word of a stored list does not count, and that the
// other words do.
func TestWordsThatSlippedIn(t *testing.T) {
	for name, test := range map[string]struct {
		stored string
		want   []string
	}{
		settings.AllowedOrigins:   {"*, https://a.example, https://*.b.example", []string{"https://a.example"}},
		settings.ManagerEmail:     {"ops@bank.example, <ops>", []string{"ops@bank.example"}},
		settings.Favourites:       {"40, 338178e6-3d01-564f-9a7b-52ca442459bf", []string{"338178e6-3d01-564f-9a7b-52ca442459bf"}},
		settings.SignatureAliases: {"B:I, OLD", []string{"OLD"}},
	} {
		v := settings.Values{name: test.stored}
		if got := v.List(name); !slices.Equal(got, test.want) || len(v.Invalid()) != 1 {
			t.Errorf("%s: the words are %q, invalid %v", name, got, v.Invalid())
		}
	}
	if v := (settings.Values{settings.Timezone: "Local"}); v.Location() != time.UTC || len(v.Invalid()) != 1 {
		t.Errorf("the zone is %v, invalid %v", v.Location(), v.Invalid())
	}
}

func TestSetAndLoad(t *testing.T) {
	db, domain := open(t)
	set := map[string]string{settings.Timezone: "Europe/Paris", settings.PeriodicEnabled: "1", settings.SignatureAliases: "BI, OLD", settings.FlushInterval: "5"}
	if err := settings.Set(t.Context(), db, domain, set, now); err != nil {
		t.Fatal(err)
	}
	v, err := settings.Load(t.Context(), &db.Reader, domain)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Values(set), v); diff != "" {
		t.Error(diff)
	}
	if !v.On(settings.PeriodicEnabled) || v.Int(settings.FlushInterval) != 5 || !slices.Equal(v.List(settings.SignatureAliases), []string{"BI", "OLD"}) {
		t.Errorf("values %v", v)
	}
	if at := now.In(v.Location()).Format(time.DateTime); at != "2026-11-21 16:04:05" {
		t.Errorf("in Paris it is %s", at)
	}
}

func pointer(s string) *string { return &s }

// TestChange changes keys, one of them through each of its names, and checks the recorded changes.
func TestChange(t *testing.T) {
	db, domain := open(t)
	change := func(by string, changes map[string]*string) {
		t.Helper()
		if err := settings.Change(t.Context(), db, domain, changes, by, now); err != nil {
			t.Fatal(err)
		}
	}
	change("token 1", map[string]*string{"biapi.manager.email": pointer("a@b.example"), settings.ManagerEmail: pointer("a@b.example")})
	change("token 2", map[string]*string{settings.ManagerEmail: pointer("c@d.example"), "cat.enabled": pointer("1")})
	change("token 3", map[string]*string{settings.ManagerEmail: pointer("c@d.example"), settings.Timezone: nil})
	values, err := settings.Load(t.Context(), &db.Reader, domain)
	if err != nil || values.Text("biapi.manager.email") != "c@d.example" {
		t.Errorf("values %v, %v", values, err)
	}
	change("command", map[string]*string{"biapi.manager.email": nil, settings.ManagerEmail: nil})
	wantInvalid(t, settings.Change(t.Context(), db, domain, map[string]*string{"biapi.manager.email": pointer("x@y.example"), settings.ManagerEmail: nil}, "x", now), settings.ManagerEmail)
	wantInvalid(t, settings.Change(t.Context(), db, domain, map[string]*string{"no.such.key": nil}, "x", now), "no.such.key")
	record, err := db.SettingChanges(t.Context(), store.SettingChanges{Domain: domain}, store.Window{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range record {
		got = append(got, fmt.Sprint(c.By, " ", c.Type, " ", c.Key, " ", shown(c.Previous), " ", shown(c.New)))
	}
	want := []string{
		"command delete svc.manager.email c@d.example -", "token 2 update svc.manager.email a@b.example c@d.example",
		"token 2 add cat.enabled - 1", "token 1 add svc.manager.email - a@b.example",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func shown(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// TestKeysSayWhatTheyTake checks how keys describe their allowed values. The default of each key
// must be allowed.
func TestKeysSayWhatTheyTake(t *testing.T) {
	for name, want := range map[string]struct {
		takes   string
		choices []string
		long    bool
	}{
		settings.Timezone:    {"an IANA time zone such as Europe/Paris", nil, false},
		settings.BlockCount:  {"a whole number from 0 to 1000", nil, false},
		settings.Compression: {`"0" or "1"`, []string{"0", "1"}, false},
		settings.Systematic:  {`"0" or "1"`, []string{"", "0", "1"}, false},
		settings.Authorities: {"certificates of authorities in PEM, or empty", nil, true},
		"oauth2.enabled":     {"any text", nil, false},
		"cat.of.a.client":    {"any text", nil, false},
	} {
		key, _ := settings.Find(name)
		if key.Takes() != want.takes || !slices.Equal(key.Choices(), want.choices) || key.Long() != want.long {
			t.Errorf("%s takes %q, of %q, long: %t", name, key.Takes(), key.Choices(), key.Long())
		}
	}
	for _, key := range settings.Keys() {
		if key.Takes() == "" || key.Help == "" || settings.Check(key.Name, key.Default) != nil {
			t.Errorf("%s does not say what it takes or is for, or not its own default", key.Name)
		}
	}
}

// TestChangesAreOnRecordWithTheirActs checks that the audit log has an act for each successful
// change. It must have no act for a refused change.
func TestChangesAreOnRecordWithTheirActs(t *testing.T) {
	db, domain := open(t)
	act := store.Audit{Domain: domain, At: now, Act: "change", Request: "r"}
	wantInvalid(t, settings.Change(t.Context(), db, domain, map[string]*string{settings.Timezone: pointer("x")}, "x", now, act), settings.Timezone)
	for _, err := range []error{
		settings.Change(t.Context(), db, domain, map[string]*string{settings.Timezone: pointer("UTC")}, "x", now, act),
		settings.ConfigureConnectors(t.Context(), db, domain, map[string]*string{settings.ConnectorHidden("a"): pointer("1")}, "x", now, act),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	acts, err := operatorstore.From(db).Audits(t.Context(), operatorstore.AuditFilter{Domain: domain}, store.Window{Limit: 10})
	if err != nil || len(acts) != 2 {
		t.Errorf("%d acts, %v", len(acts), err)
	}
}

// TestFamiliesAreBounded checks that a domain can store only a limited number of keys with prefixes
// such as "cat.". The limit exists because clients choose the names of these keys.
func TestFamiliesAreBounded(t *testing.T) {
	db, domain := open(t)
	many := map[string]*string{}
	for i := range 200 {
		many[fmt.Sprint("cat.", i)] = pointer("1")
	}
	if err := settings.Change(t.Context(), db, domain, many, "x", now); err != nil {
		t.Fatal(err)
	}
	err := settings.Change(t.Context(), db, domain, map[string]*string{"stet.one": pointer("1")}, "x", now)
	if !errors.Is(err, passerelle.Conflict) {
		t.Errorf("one more: %v", err)
	}
	if err := settings.Change(t.Context(), db, domain, map[string]*string{"stet.one": pointer("1"), "cat.7": nil}, "x", now); err != nil {
		t.Errorf("one in place of another: %v", err)
	}
}

func TestOneBadValueSetsNothing(t *testing.T) {
	db, domain := open(t)
	for range 10 { // the order of the map varies
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
