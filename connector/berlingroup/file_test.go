package berlingroup_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/connector/berlingroup/tomlfile"
	"passerelle/payment"
)

var update = flag.Bool("update", false, "write docs/bank-file.md anew")

// written writes the example file into a new folder. In the new file, the argument `replacement`
// replaces the text `old`.
func written(t *testing.T, old, replacement string) string {
	t.Helper()
	example, err := os.ReadFile("testdata/bank.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(example, []byte(old)) {
		t.Fatalf("the example does not have %q", old)
	}
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	path := filepath.Join(folder, "bank.toml")
	if err := os.WriteFile(path, bytes.Replace(example, []byte(old), []byte(replacement), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWrongFile(t *testing.T) {
	for _, test := range []struct {
		name, old, replacement string
		line                   int
		field, says            string
	}{
		{"no TOML", "id        = 9101", "id = [", 0, "", ""},
		{"another type", "9101", `"many"`, 2, "id", "must be a whole number"},
		{"a number as a name", `"Example Bank (Berlin Group, redirect)"`, "5", 3, "name", "must be text in quotes"},
		{"a text as a list", `["DE"]`, `"DE"`, 4, "countries", "must be a list of texts"},
		{"a number as a switch", "9101", "9101\nhidden = 1", 3, "hidden", "must be true or false"},
		{"a port that is none", "https://127.0.0.1:9443\"\n\n[tls]", "https://127.0.0.1:99999\"\n\n[tls]", 15, "address.api", "has the port 99999"},
		{"no instruction", "max_bulk     = 50", "max_bulk = 0", 41, "profile.payments.max_bulk", "from 1 to 1000"},
		{"no page life", "[profile]", "[profile]\nredirect_seconds = 0", 0, "profile.redirect_seconds", "from 1"},
		{"no approval life", "[profile]", "[profile]\nauthorisation_hours = 0", 0, "profile.authorisation_hours", "from 1"},
		{"no time to repeat", "[profile]", "[profile]\nidempotent = true\nidempotent_minutes = 0", 0, "profile.idempotent_minutes", "from 1"},
		{"a time to repeat for nothing", "[profile]", "[profile]\nidempotent_minutes = 5", 0, "profile.idempotent_minutes", "needs idempotent"},
		{"no consent at all", "[profile.accounts]", "[profile.accounts]\nconsent_days = 0", 46, "profile.accounts.consent_days", "from 1 to 180"},
		{"history of no day", "[profile.accounts]", "[profile.accounts]\nhistory_days = 0", 46, "profile.accounts.history_days", "from 1"},
		{"a maximum of no day", "max_days     = 365", "max_days = 0", 42, "profile.payments.max_days", "from 1"},
		{"only pending", `["booked", "pending", "both"]`, `["pending"]`, 47, "profile.accounts.booking_statuses", "no booked transactions"},
		{"a field that is none", "color     =", "colour =", 5, "colour", "is no field"},
		{"a field of a table that is none", "future_dates =", "future =", 37, "profile.payments.future", "is no field"},
		{"no UUID", `uuid      = "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11"`, "", 0, "uuid", "must be a UUID"},
		{"a UUID in capitals", "5d4c6a1e", "5D4C6A1E", 1, "uuid", "lower case"},
		{"a number below 1", "9101", "0", 2, "id", "from 1"},
		{"a number too large", "9101", "562949953421312", 2, "id", "from 1 to 562949953421311"},
		{"no name", `"Example Bank (Berlin Group, redirect)"`, `""`, 3, "name", "must be text"},
		{"a name in two lines", "Example Bank", `Example\nBank`, 3, "name", "must be text"},
		{"no country", `["DE"]`, `[]`, 4, "countries", "names no country"},
		{"an unknown country", `["DE"]`, `["ZZ"]`, 4, "countries", `"ZZ" is not`},
		{"a country twice", `["DE"]`, `["DE", "DE"]`, 4, "countries", "twice"},
		{"a colour with a hash", "0b5fff", "#0b5fff", 5, "color", "six hexadecimal digits"},
		{"a BIC that is none", "EXBKDEFFXXX", "EXBK", 6, "bics", `"EXBK" is not a BIC`},
		{"a prefix that is none", "DE..50010517", "de50", 7, "iban_prefixes", "beginning of an IBAN"},
		{"another standard", `"berlin-group"`, `"stet"`, 11, "standard.kind", "must be berlin-group"},
		{"another version", "1.3.11", "2.0", 12, "standard.version", "1.3"},
		{"an open address", "https://127.0.0.1:9443\"\n\n[tls]", "http://127.0.0.1:9443\"\n\n[tls]", 15, "address.api", "https"},
		{"an address with a user", "https://127.0.0.1:9443\"\n\n[tls]", "https://u:p@127.0.0.1\"\n\n[tls]", 15, "address.api", "without user"},
		{"a name as our address", "https://127.0.0.1:9443\"\n\n[tls]", "https://127.0.0.1:9443\"\nown = \"gateway.example\"\n\n[tls]", 16, "address.own", "must be an IP address"},
		{"no address", "https://127.0.0.1:9443\"\n\n[tls]", "https://127.0.0.1:9443\"\nown = \"0.0.0.0\"\n\n[tls]", 16, "address.own", "must be an IP address"},
		{"no certificate", `certificate = "qwac.pem"`, "", 17, "tls.certificate", "names no file"},
		{"no key", `key         = "qwac.key"`, "", 17, "tls", "needs either key or command"},
		{"no signing certificate", `certificate = "qsealc.pem"`, "", 22, "signature.certificate", "names no file"},
		{"no way to sign", `key         = "qsealc.key"`, "", 22, "signature", "either key or command"},
		{"two ways to sign", `key         = "qsealc.key"`, "key = \"qsealc.key\"\ncommand = [\"sign\"]", 22, "signature", "either key or command"},
		{"another digest", `key         = "qsealc.key"`, "key = \"qsealc.key\"\ndigest = \"MD5\"", 25, "signature.digest", `"MD5" is not one of SHA-256, SHA-512`},
		{"a header that is not signed", `key         = "qsealc.key"`, "key = \"qsealc.key\"\nheaders = [\"digest\", \"x-request-id\", \"host\"]", 25, "signature.headers", `"host" is not one of`},
		{"a type with a line break", "[profile]", "[profile]\npsu_id_type = \"A\\nB\"", 31, "profile.psu_id_type", "without blanks"},
		{"a key id with a quote", `key         = "qsealc.key"`, "key = \"qsealc.key\"\nkey_id = 'SN=1,CA=\"A\"'", 25, "signature.key_id", "without quotes and without blanks at the ends"},
		{"a key id with a blank at its end", `key         = "qsealc.key"`, "key = \"qsealc.key\"\nkey_id = 'SN=1 '", 25, "signature.key_id", "without quotes and without blanks at the ends"},
		{"a signature without digest", `key         = "qsealc.key"`, "key = \"qsealc.key\"\nheaders = [\"x-request-id\"]", 25, "signature.headers", "must have digest"},
		{"open metadata", "https://127.0.0.1:9443/.well", "http://127.0.0.1:9443/.well", 27, "oauth.metadata", "https"},
		{"no client", "PSDDE-TEST-1", "", 28, "oauth.client_id", "our client id"},
		{"no approach", `sca = ["redirect", "oauth", "decoupled", "embedded"]`, "sca = []", 31, "profile.sca", "names no approach"},
		{"an unknown approach", `"decoupled", "embedded"]`, `"telepathy"]`, 31, "profile.sca", `"telepathy" is not one of redirect, oauth, decoupled, embedded`},
		{"an approach twice", `"decoupled", "embedded"]`, `"redirect"]`, 31, "profile.sca", "twice"},
		{"oauth without a server", "[oauth]\nmetadata  = \"https://127.0.0.1:9443/.well-known/oauth-authorization-server\"\nclient_id = \"PSDDE-TEST-1\"", "", 29, "profile.sca", "needs the table oauth"},
		{"another start", "sca = [", "start = \"late\"\nsca = [", 31, "profile.start", `"late" is not one of implicit, explicit`},
		{"another debtor", "sca = [", "debtor_account = \"maybe\"\nsca = [", 31, "profile.debtor_account", "required, optional, refused"},
		{"another status", "sca = [", "last_status = \"DONE\"\nsca = [", 31, "profile.last_status", "ACSC"},
		{"a redirect without time", "sca = [", "redirect_seconds = -1\nsca = [", 31, "profile.redirect_seconds", "from 1"},
		{"an authorisation of a year", "sca = [", "authorisation_hours = 8760\nsca = [", 31, "profile.authorisation_hours", "from 1 to 720"},
		{"passwords of an old version", "1.3.11", "1.3\"\n\n[passwords]\ncertificate = \"ca.pem", 14, "passwords", "needs version 1.3.3 of the standard; the bank has 1.3"},
		{"months of an old version", "1.3.11", "1.3.4", 38, "profile.payments.frequencies", "needs version 1.3.5"},
		{"no calls", "sca = [", "calls_a_day = -4\nsca = [", 31, "profile.calls_a_day", "from 0"},
		{"no product", `single       = ["sepa-credit-transfers", "instant-sepa-credit-transfers"]`, "single = []", 34, "profile.payments.single", "names no product"},
		{"an unknown product", "instant-sepa-credit-transfers", "cheques", 34, "profile.payments.single", `"cheques" is not one of`},
		{"a product that no payment would use", "instant-sepa-credit-transfers", "target-2-payments", 34, "profile.payments.single", "describe each further one in a file of its own"},
		{"an unknown bulk product", `bulk         = ["sepa`, `bulk = ["septa`, 35, "profile.payments.bulk", "is not one of"},
		{"instant periodic payments", `periodic     = ["sepa`, `periodic = ["instant-sepa`, 36, "profile.payments.periodic", "not instant"},
		{"an unknown frequency", `"weekly"`, `"hourly"`, 38, "profile.payments.frequencies", `"hourly" is not one of`},
		{"no frequency", `["weekly", "monthly", "four-monthly"]`, "[]", 38, "profile.payments.frequencies", "needs periodic"},
		{"a sum that is none", `"0.01"`, `"some"`, 39, "profile.payments.min_amount", "a sum in EUR"},
		{"a sum of nothing", `"15000.00"`, `"0.00"`, 40, "profile.payments.max_amount", "a sum in EUR"},
		{"no sum fits", `"0.01"`, `"15000.01"`, 39, "profile.payments.min_amount", "more than max_amount"},
		{"too many instructions", "max_bulk     = 50", "max_bulk = 1001", 41, "profile.payments.max_bulk", "from 1 to 1000"},
		{"a bound of no bulk", `bulk         = ["sepa-credit-transfers"]`, "", 41, "profile.payments.max_bulk", "needs bulk"},
		{"too many days", "max_days     = 365", "max_days = 9999", 42, "profile.payments.max_days", "from 1"},
		{"no day fits", "max_days     = 365", "max_days = 2\nmin_days = 3", 43, "profile.payments.min_days", "more than max_days"},
		{"an unknown cancellation", `cancellation = "sca"`, `cancellation = "ask"`, 43, "profile.payments.cancellation", "none, direct, sca"},
		{"no consent", `["global", "detailed", "available-accounts", "all-psd2"]`, "[]", 46, "profile.accounts.consents", "names no kind"},
		{"an unknown consent", `"all-psd2"`, `"everything"`, 46, "profile.accounts.consents", "is not one of"},
		{"an unknown booking status", `["booked", "pending", "both"]`, `["maybe"]`, 47, "profile.accounts.booking_statuses", "is not one of"},
		{"no transactions", `["booked", "pending", "both"]`, `["information"]`, 47, "profile.accounts.booking_statuses", "no transactions"},
		{"a consent of a year", "[profile.accounts]", "[profile.accounts]\nconsent_days = 365", 46, "profile.accounts.consent_days", "from 1 to 180"},
		{"no history", "[profile.accounts]", "[profile.accounts]\nhistory_days = -1", 46, "profile.accounts.history_days", "from 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := berlingroup.Load(written(t, test.old, test.replacement))
			all := tomlfile.Complaints(err)
			if len(all) == 0 {
				t.Fatalf("no complaint: %v", err)
			}
			for _, c := range all {
				if (test.line == 0 || c.Line == test.line) && (test.field == "" || c.Field == test.field) && strings.Contains(c.Message, test.says) {
					return
				}
			}
			t.Errorf("line %d, %s, %q is not among:\n%v", test.line, test.field, test.says, err)
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := berlingroup.Load(filepath.Join(folder, "none.toml")); !strings.Contains(fmt.Sprint(err), "none.toml: no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
	large := filepath.Join(folder, "large.toml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := berlingroup.Load(large); !strings.Contains(fmt.Sprint(err), "larger than 1048576 bytes") {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestSeveralComplaints(t *testing.T) {
	_, err := berlingroup.Load(written(t, "9101", "0\nhidden = true\nextra = 1\nmore = 2"))
	if n := len(tomlfile.Complaints(err)); n != 3 {
		t.Errorf("%d complaints about two fields that are none and a wrong value:\n%v", n, err)
	}
	_, err = berlingroup.Load(written(t, "9101\nname      = \"Example", "0\nname = \"\\nExample"))
	if n := len(tomlfile.Complaints(err)); n != 2 {
		t.Errorf("%d complaints about two wrong values:\n%v", n, err)
	}
	if got := tomlfile.Complaints(errors.New("of something else")); got != nil {
		t.Errorf("complaints in an error that has none: %v", got)
	}
}

const (
	manyAtOnce = `bulk         = ["sepa-credit-transfers"]
periodic     = ["sepa-credit-transfers"]
future_dates = true
frequencies  = ["weekly", "monthly", "four-monthly"]
min_amount   = "0.01"
max_amount   = "15000.00"
max_bulk     = 50
`
	oneAtATime = `periodic     = ["sepa-credit-transfers"]
future_dates = true
frequencies  = ["weekly", "monthly", "four-monthly"]
min_amount   = "0.01"
max_amount   = "15000.00"
`
)

func TestProfile(t *testing.T) {
	usual := connector.Profile{
		UUID: "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11", ID: 9101, Name: "Example Bank (Berlin Group, redirect)", Countries: []string{"DE"}, Sandbox: true,
		ExecutesAtOnce: true, KeyLife: time.Hour, ApprovalLife: 24 * time.Hour, Labels: connector.Labels{Color: "0b5fff"},
		Sources: []connector.Source{{ID: 91011, Name: "openapi", Mechanisms: []passerelle.AuthMechanism{passerelle.ByWebauth}}},
	}
	reads := connector.DataSettings{
		Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking", "savings", "loan"}, Usages: []passerelle.Usage{"PRIV", "ORGA"},
		MonthsToFetch: 3, ConsentDays: 180, UnattendedReads: 4,
	}
	carries := payment.Settings{
		Mechanisms: []string{"webauth"}, Schemes: []passerelle.AccountScheme{passerelle.IBAN}, DateTypes: payment.DateTypes(),
		Frequencies: []payment.Frequency{"weekly", "monthly", "four-monthly"}, Currencies: []passerelle.Currency{"EUR"}, MaxInstructions: 50,
		BulkDateTypes: []payment.DateType{payment.FirstOpenDay, payment.Deferred}, PayerAccount: payment.PayerOptional,
		Accounts:        payment.AccountRanges{IBANs: []string{"DE..50010517"}, BICs: []string{"EXBKDEFFXXX"}},
		PartialTracking: []payment.DateType{payment.Periodic}, Cancellable: true, MaxDays: 365,
		Minimum: map[payment.DateType]int64{payment.FirstOpenDay: 1, payment.Deferred: 1, payment.Instant: 1, payment.Periodic: 1},
		Maximum: map[payment.DateType]int64{payment.FirstOpenDay: 1500000, payment.Deferred: 1500000, payment.Instant: 1500000, payment.Periodic: 1500000},
	}
	without := func(types []payment.DateType, one payment.DateType) (rest []payment.DateType) {
		for _, other := range types {
			if other != one {
				rest = append(rest, other)
			}
		}
		return rest
	}
	drop := func(one payment.DateType) func(*connector.Profile, *payment.Settings) {
		return func(_ *connector.Profile, s *payment.Settings) {
			s.DateTypes, s.PartialTracking = without(s.DateTypes, one), without(s.PartialTracking, one)
			delete(s.Minimum, one)
			delete(s.Maximum, one)
			if s.BulkDateTypes = without(s.BulkDateTypes, one); one == payment.Periodic {
				s.Frequencies = nil
			}
		}
	}
	for _, test := range []struct {
		name, old, replacement string
		differs                func(*connector.Profile, *payment.Settings)
	}{
		{"as it is", "", "", func(*connector.Profile, *payment.Settings) {}},
		{"hidden", "sandbox   = true", "hidden = true", func(p *connector.Profile, _ *payment.Settings) { p.Hidden, p.Sandbox = true, false }},
		{"idempotent", "sca =", "idempotent = true\nsca =", func(p *connector.Profile, _ *payment.Settings) { p.Idempotent = true }},
		{"idempotent for a short time", "sca =", "idempotent = true\nidempotent_minutes = 5\nsca =", func(p *connector.Profile, _ *payment.Settings) {
			p.Idempotent, p.KeyLife = true, 5*time.Minute
		}},
		{"with a confirmation", "sca =", "confirmation = true\nsca =", func(p *connector.Profile, _ *payment.Settings) { p.ExecutesAtOnce = false }},
		{"with a user name", "sca =", "psu_id = true\nsca =", func(p *connector.Profile, _ *payment.Settings) {
			p.PaymentFields = []payment.Field{{Name: "psu_id", Type: "text", Label: "User name at Example Bank (Berlin Group, redirect)", Required: true, Regex: `^[^\x00-\x1f\x7f]+$`}}
			p.Data.Fields = []connector.Field{{Name: "psu_id", Type: "text", Label: "User name at Example Bank (Berlin Group, redirect)", Required: true, Regex: `^[^\x00-\x1f\x7f]+$`}}
		}},
		{"with a company", "sca =", "psu_corporate_id = true\nsca =", func(p *connector.Profile, _ *payment.Settings) {
			p.PaymentFields = []payment.Field{{Name: "psu_corporate_id", Type: "text", Label: "Company identification at Example Bank (Berlin Group, redirect), if any", Regex: `^[^\x00-\x1f\x7f]+$`}}
			p.Data.Fields = []connector.Field{{Name: "psu_corporate_id", Type: "text", Label: "Company identification at Example Bank (Berlin Group, redirect), if any", Regex: `^[^\x00-\x1f\x7f]+$`}}
		}},
		{"in the app", `["redirect", "oauth", "decoupled", "embedded"]`, `["decoupled"]`, func(p *connector.Profile, _ *payment.Settings) {
			p.Sources[0].Mechanisms = []passerelle.AuthMechanism{passerelle.ByCredentials}
			p.Data.Fields = []connector.Field{{Name: "psu_id", Type: "text", Label: "User name at Example Bank (Berlin Group, redirect)", Required: true, Regex: `^[^\x00-\x1f\x7f]+$`}}
		}},
		{"two questions for all transactions", `["booked", "pending", "both"]`, `["booked", "pending"]`, func(p *connector.Profile, _ *payment.Settings) {
			p.Data.UnattendedReads = 2
		}},
		{"years of history, and cards", "[profile.accounts]", "[profile.accounts]\nhistory_days = 730\ncard_accounts = true", func(p *connector.Profile, _ *payment.Settings) {
			p.Data.MonthsToFetch, p.Data.AccountTypes = 25, []passerelle.AccountType{"checking", "savings", "loan", "card"}
		}},
		{"a payer that is required", "sca =", "debtor_account = \"required\"\nsca =", func(_ *connector.Profile, s *payment.Settings) { s.PayerAccount = payment.PayerMandatory }},
		{"a payer that is refused", "sca =", "debtor_account = \"refused\"\nsca =", func(_ *connector.Profile, s *payment.Settings) { s.PayerAccount = payment.PayerNotUsed }},
		{"accepted as the last", "sca =", "last_status = \"ACSP\"\nsca =", func(_ *connector.Profile, s *payment.Settings) { s.PartialTracking = payment.DateTypes() }},
		{"no bulk", manyAtOnce, oneAtATime, func(_ *connector.Profile, s *payment.Settings) {
			s.MaxInstructions, s.BulkDateTypes = 1, []payment.DateType{}
		}},
		{"no instant", `, "instant-sepa-credit-transfers"`, "", drop(payment.Instant)},
		{"no dates", "future_dates = true", "", drop(payment.Deferred)},
		{"no periodic", "periodic     = [\"sepa-credit-transfers\"]\nfuture_dates = true\nfrequencies  = [\"weekly\", \"monthly\", \"four-monthly\"]", "future_dates = true", drop(payment.Periodic)},
		{"days ahead", "max_days     = 365", "min_days = 2\nopen_days_only = true", func(_ *connector.Profile, s *payment.Settings) { s.MinDays, s.MaxDays, s.OpenDaysOnly = 2, 0, true }},
		{"no cancellation", `"sca"`, `"none"`, func(_ *connector.Profile, s *payment.Settings) { s.Cancellable = false }},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank, err := berlingroup.Load(written(t, test.old, test.replacement))
			if err != nil {
				t.Fatal(err)
			}
			want, settings := usual, carries
			settings.Minimum, settings.Maximum = map[payment.DateType]int64{}, map[payment.DateType]int64{}
			for _, dates := range payment.DateTypes() {
				settings.Minimum[dates], settings.Maximum[dates] = 1, 1500000
			}
			data := reads
			want.Sources, want.Data = slices.Clone(want.Sources), &data
			test.differs(&want, &settings)
			want.Payments = &settings
			if diff := cmp.Diff(want, bank.Profile()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestSingleComplaints: a wrong value causes no complaints about correct fields.
func TestSingleComplaints(t *testing.T) {
	for _, change := range [][2]string{{"1.3.11", "1.4.0"}, {"max_days     = 365", "max_days = -1"}, {"max_bulk     = 50", "max_bulk = 0"}} {
		if _, err := berlingroup.Load(written(t, change[0], change[1])); len(tomlfile.Complaints(err)) != 1 {
			t.Errorf("%s: %v", change[1], err)
		}
	}
}

// TestNoUnattendedCalls: the file may forbid reads without the user.
func TestNoUnattendedCalls(t *testing.T) {
	bank, err := berlingroup.Load(written(t, "[profile]", "[profile]\ncalls_a_day = 0"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(bank.Settings(), berlingroup.Setting{Name: "profile.calls_a_day", Value: 0}) {
		t.Errorf("the settings are %v", bank.Settings())
	}
	outcome, err := bank.Connector().(connector.DataReader).Read(t.Context(), connector.DataRequest{Now: noon, Memory: []byte(`{"consent":"c1","valid":true,"until":"2100-01-01T00:00:00Z"}`)}, nil)
	if err != nil || outcome.State != passerelle.RateLimiting || outcome.RetryAfter != 24*time.Hour {
		t.Errorf("a read without the user ends with %+v, %v", outcome, err)
	}
}

// TestInlineTables: a file may write tables in one line. Its fields count as fields of the file,
// also if they are 0.
func TestInlineTables(t *testing.T) {
	w := newFixture(t, http.NotFoundHandler(), nil)
	head, _, _ := strings.Cut(w.file, "[profile]")
	w.file = "profile = { sca = [\"redirect\"], calls_a_day = 0, accounts = { consents = [\"global\"], history_days = 90 } }\n" + head
	settings := w.load().Settings()
	for _, want := range []berlingroup.Setting{
		{Name: "profile.calls_a_day", Value: 0}, {Name: "profile.accounts.history_days", Value: 90}, {Name: "profile.accounts.consent_days", Value: 180, Preset: true},
	} {
		if !slices.ContainsFunc(settings, func(s berlingroup.Setting) bool { return reflect.DeepEqual(s, want) }) {
			t.Errorf("the settings are %v, want %v", settings, want)
		}
	}
	w.write("bank.toml", []byte(strings.Replace(w.file, "history_days = 90", "history_days = 0", 1)))
	_, err := berlingroup.Load(filepath.Join(w.folder, "bank.toml"))
	if all := tomlfile.Complaints(err); len(all) != 1 || all[0].Field != "profile.accounts.history_days" || all[0].Line != 1 || all[0].Column != 86 {
		t.Errorf("%v", err)
	}
}

func TestSettings(t *testing.T) {
	bank, err := berlingroup.Load(written(t, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]berlingroup.Setting{}
	for _, one := range bank.Settings() {
		got[one.Name] = one
	}
	for _, want := range []berlingroup.Setting{
		{"id", int64(9101), false}, {"signature.digest", "SHA-256", true}, {"profile.payments.max_bulk", 50, false}, {"profile.accounts.consent_days", 180, true},
	} {
		if got[want.Name] != want {
			t.Errorf("%+v, want %+v", got[want.Name], want)
		}
	}
}

const reference = "../../docs/bank-file.md"

const introduction = `# Bank files

<!-- Generated from the program; make generate updates it. -->

This page lists every field of a bank file. A bank file describes a bank with the XS2A API of the Berlin Group
(NextGenPSD2 1.3), in [TOML](https://toml.io). It is in the folder of ` + "`--banks`" + `, and its name ends in ` + "`.toml`" + `. Paths are
relative to the file. The service refuses unknown fields. ` + "`passerelle bank list --banks DIR`" + ` shows errors with
their lines, and ` + "`passerelle bank show FILE`" + ` prints all values, including defaults. [banks.md](banks.md) is the guide
to connecting a bank.
`

func TestReferenceIsFresh(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(introduction)
	table(&page, "", "", reflect.TypeFor[berlingroup.File]())
	if *update {
		if err := os.WriteFile(reference, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatalf("read the page, which -update writes: %v", err)
	}
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("docs/bank-file.md is not what bank files are; run make generate: (-want +got)\n%s", diff)
	}
}

func table(page *bytes.Buffer, name, doc string, of reflect.Type) {
	heading := "The file"
	if name != "" {
		heading = "`[" + name + "]`"
	}
	fmt.Fprintf(page, "\n## %s\n\n", heading)
	if doc != "" {
		fmt.Fprintf(page, "%s\n\n", doc)
	}
	page.WriteString("| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	var tables []func()
	for i := range of.NumField() {
		f := of.Field(i)
		key, inner := f.Tag.Get("toml"), f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			path := strings.TrimPrefix(name+"."+key, ".")
			tables = append(tables, func() { table(page, path, f.Tag.Get("doc"), inner) })
			continue
		}
		preset := f.Tag.Get("need")
		if preset == "" && f.Tag.Get("preset") != "" {
			preset = "`" + f.Tag.Get("preset") + "`"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", key, kinds[inner.Kind()], preset, f.Tag.Get("doc"))
	}
	for _, write := range tables {
		write()
	}
}

var kinds = map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "true or false", reflect.Int: "number", reflect.Int64: "number", reflect.Slice: "list of texts"}

// TestPresets: the page lists each default that the program fills in.
func TestPresets(t *testing.T) {
	bank, err := berlingroup.Load(written(t, "max_bulk     = 50", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range bank.Settings() {
		if reported := tagOf(reflect.TypeFor[berlingroup.File](), one.Name, "preset"); one.Preset && reported != strings.Trim(strings.ReplaceAll(fmt.Sprint(one.Value), " ", ", "), "[]") {
			t.Errorf("%s is %v where it is left out, and the page says %q", one.Name, one.Value, reported)
		}
	}
}

func tagOf(of reflect.Type, name, tag string) string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	first, rest, more := strings.Cut(name, ".")
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Tag.Get("toml") == first && more {
			return tagOf(f.Type, rest, tag)
		}
		if f.Tag.Get("toml") == first {
			return f.Tag.Get(tag)
		}
	}
	return ""
}
