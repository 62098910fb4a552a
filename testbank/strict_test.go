package testbank_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passerelle/testbank"
	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

const single = "v1/payments/sepa-credit-transfers"

func TestCertificatesAreJudged(t *testing.T) {
	w := newFixture(t, "redirect")
	for _, c := range []struct {
		certificate, payments, accounts string
	}{
		{"", "CERTIFICATE_MISSING", "CERTIFICATE_MISSING"},
		{"expired-qwac", "CERTIFICATE_EXPIRED", "CERTIFICATE_EXPIRED"},
		{"foreign-qwac", "CERTIFICATE_INVALID", "CERTIFICATE_INVALID"},
		{"server", "CERTIFICATE_INVALID", "CERTIFICATE_INVALID"},
		{"qsealc", "CERTIFICATE_INVALID", "CERTIFICATE_INVALID"},
		{"payments-qwac", "RESOURCE_UNKNOWN", "ROLE_INVALID"},
		{"accounts-qwac", "ROLE_INVALID", "CONSENT_UNKNOWN"},
		{"qwac", "RESOURCE_UNKNOWN", "CONSENT_UNKNOWN"},
	} {
		w.certificate = c.certificate
		for path, want := range map[string]string{single + "/none": c.payments, "v1/consents/none": c.accounts} {
			r, err := w.try("GET", w.address("redirect", path), nil, nil)
			if err != nil || r.code() != want {
				t.Errorf("%s with %q: %s %v, want %s", path, c.certificate, r.raw, err, want)
			}
		}
	}
}

// TestOthersOrdersAreUnknown checks that the bank does not find the orders and consents of another
// third party.
func TestOthersOrdersAreUnknown(t *testing.T) {
	w := newFixture(t, "redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(nil), present(nil))
	consent := w.call(201, "POST", w.address("redirect", "v1/consents"), wish(nil), present(nil))
	w.certificate = "other-qwac"
	for _, name := range []string{"self", "status", "scaStatus"} {
		w.refused(404, "RESOURCE_UNKNOWN", "GET", first.link(name), nil, nil)
		code, status := "CONSENT_UNKNOWN", 403
		if name == "scaStatus" {
			code, status = "RESOURCE_UNKNOWN", 404
		}
		w.refused(status, code, "GET", consent.link(name), nil, nil)
	}
	w.refused(404, "RESOURCE_UNKNOWN", "DELETE", first.link("self"), nil, nil)
	w.refused(403, "CONSENT_UNKNOWN", "DELETE", consent.link("self"), nil, nil)
}

func TestPathsAndMethods(t *testing.T) {
	w := newFixture(t, "redirect")
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"PUT", single, 405, "SERVICE_INVALID"},
		{"DELETE", "v1/accounts", 405, "SERVICE_INVALID"},
		{"POST", single + "/none", 405, "SERVICE_INVALID"},
		{"GET", "v1/nothing", 404, "RESOURCE_UNKNOWN"},
		{"PATCH", "v1/consents", 405, "SERVICE_INVALID"},
	} {
		w.refused(c.status, c.code, c.method, w.address("redirect", c.path), nil, nil)
	}
}

// TestBrowsersDoNotControl checks that the tester's interface refuses calls with an Origin header.
func TestBrowsersDoNotControl(t *testing.T) {
	w := newFixture(t, "redirect")
	for call, want := range map[string]int{"GET /banks": 200, "GET /banks/redirect/clock": 200, "POST /banks/redirect/run": 200, "GET /nothing": 404} {
		method, path, _ := strings.Cut(call, " ")
		w.call(403, method, w.program.Control+path, nil, headers{"Origin": "https://attacker.example"})
		w.call(want, method, w.program.Control+path, nil, nil)
	}
}

// When a folder lacks the certificate for passwords, WritePasswords makes it.
// TestPasswordsAreSignedByTheFolder checks that the authority of the folder has signed the new
// certificate.
func TestPasswordsAreSignedByTheFolder(t *testing.T) {
	folder := t.TempDir()
	if _, err := eidas.WriteFolder(folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	passwords := filepath.Join(folder, eidas.PasswordsFile+".pem")
	if err := os.Remove(passwords); err != nil {
		t.Fatal(err)
	}
	if err := eidas.WritePasswords(folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	read := func(path string) *x509.Certificate {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(content)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return certificate
	}
	if err := read(passwords).CheckSignatureFrom(read(filepath.Join(folder, eidas.AuthorityFile+".pem"))); err != nil {
		t.Error(err)
	}
}

// TestOneProgramOpensTheBooks checks that a second program with the same folder fails to start and
// does not change the bank file.
func TestOneProgramOpensTheBooks(t *testing.T) {
	w := newFixture(t, "redirect")
	file := filepath.Join(w.data, "banks", "redirect.toml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const free = "127.0.0.1:0"
	if _, err = testbank.Open(t.Context(), testbank.Config{Data: w.data, Listen: free, Pages: free, Control: free, Profiles: []string{"redirect"}, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "only one program may use") {
		t.Errorf("the second program: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the bank file has changed: %v", err)
	}
	w.call(201, "POST", w.address("redirect", single), order(nil), present(nil))
}

// TestCompanies checks that the bank for companies requires the customer, and requires the company
// only if the customer acts for one. A third party must not name the account, because the customer
// chooses it at the bank.
func TestCompanies(t *testing.T) {
	w := newFixture(t, "company")
	send, body := w.address("company", single), bodies(w, "company")[bank.Single]
	named := func(psu, corporate string) headers {
		return present(headers{"PSU-ID": psu, "PSU-Corporate-ID": corporate})
	}
	w.call(201, "POST", send, body, named("clara", "CLARA-1"))
	w.call(201, "POST", send, body, named("anna", ""))
	w.refused(401, "CORPORATE_ID_INVALID", "POST", send, body, named("clara", ""))
	w.refused(401, "CORPORATE_ID_INVALID", "POST", send, body, named("anna", "CLARA-1"))
	w.refused(401, "CORPORATE_ID_INVALID", "POST", w.address("company", "v1/consents"), wish(nil), named("anna", "CLARA-1"))
	w.refused(400, "FORMAT_ERROR", "POST", send, body, present(nil))
	w.refused(400, "FORMAT_ERROR", "POST", send, order(map[string]any{"debtorAccount": map[string]any{"iban": w.mine("company")}}), named("anna", ""))
}

// TestBankForDeltas checks that the bank refuses entryReferenceFrom and bookingStatus=both, and
// permits two calls a day without the customer.
func TestBankForDeltas(t *testing.T) {
	w := newFixture(t, "delta")
	use, list := w.consent("delta", wish(nil)), w.address("delta", "v1/accounts/anna-current/transactions?")
	w.refused(400, "PARAMETER_NOT_SUPPORTED", "GET", list+"bookingStatus=both&deltaList=true", nil, use)
	w.refused(400, "PARAMETER_NOT_SUPPORTED", "GET", list+"bookingStatus=booked&entryReferenceFrom=E1", nil, with(use, present(nil)))
	for range 2 {
		w.call(200, "GET", w.address("delta", "v1/accounts"), nil, use)
	}
	w.refused(429, "ACCESS_EXCEEDED", "GET", w.address("delta", "v1/accounts"), nil, use)
}

func TestUnusedMembersAreAccepted(t *testing.T) {
	w := newFixture(t, "redirect")
	body, err := json.Marshal(order(map[string]any{"purposeCode": "RENT", "creditorAddress": map[string]any{"country": "FR"}}))
	if err != nil {
		t.Fatal(err)
	}
	w.call(201, "POST", w.address("redirect", single), body, present(nil))
}

func TestWrongOrdersAreRefused(t *testing.T) {
	w := newFixture(t, "redirect")
	today := time.Now().UTC()
	date := func(days int) string { return today.AddDate(0, 0, days).Format(time.DateOnly) }
	amount := func(value, currency string) map[string]any {
		return order(map[string]any{"instructedAmount": map[string]any{"amount": value, "currency": currency}})
	}
	periodic := func(changes map[string]any) map[string]any {
		body := order(map[string]any{"startDate": date(1), "frequency": "Monthly"})
		for name, value := range changes {
			body[name] = value
		}
		return body
	}
	encoded, err := json.Marshal(order(nil))
	if err != nil {
		t.Fatal(err)
	}
	complete := string(encoded)
	const bulk, standing = "v1/bulk-payments/sepa-credit-transfers", "v1/periodic-payments/sepa-credit-transfers"
	for _, c := range []struct {
		name, path string
		body       any
		headers    headers
		status     int
		code       string
	}{
		{"no address of the customer", single, order(nil), headers{"PSU-IP-Address": ""}, 400, "FORMAT_ERROR"},
		{"no IP address", single, order(nil), headers{"PSU-IP-Address": "here"}, 400, "FORMAT_ERROR"},
		{"no request id", single, order(nil), headers{"X-Request-ID": ""}, 400, "FORMAT_ERROR"},
		{"no UUID", single, order(nil), headers{"X-Request-ID": "1"}, 400, "FORMAT_ERROR"},
		{"no way back", single, order(nil), headers{"TPP-Redirect-URI": ""}, 400, "FORMAT_ERROR"},
		{"a way back that is none", single, order(nil), headers{"TPP-Redirect-URI": "javascript:alert(1)"}, 400, "FORMAT_ERROR"},
		{"a preference that is none", single, order(nil), headers{"TPP-Redirect-Preferred": "yes"}, 400, "FORMAT_ERROR"},
		{"XML", single, []byte("<a/>"), headers{"Content-Type": "application/xml"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"an answer as XML", single, order(nil), headers{"Accept": "application/xml"}, 406, "REQUESTED_FORMATS_INVALID"},
		{"another customer", single, order(nil), headers{"PSU-ID": "zoe"}, 401, "PSU_CREDENTIALS_INVALID"},
		{"no body", single, []byte(""), nil, 400, "FORMAT_ERROR"},
		{"no object", single, []byte("[]"), nil, 400, "FORMAT_ERROR"},
		{"no JSON", single, []byte(`{"creditorName": `), nil, 400, "FORMAT_ERROR"},
		{"no UTF-8", single, []byte("{\"creditorName\": \"\xff\"}"), nil, 400, "FORMAT_ERROR"},
		{"an unknown member", single, order(map[string]any{"creditor": "Shop"}), nil, 400, "FORMAT_ERROR"},
		{"an unknown member inside", single, order(map[string]any{"instructedAmount": map[string]any{"amount": "1.00", "currency": "EUR", "cents": 1}}), nil, 400, "FORMAT_ERROR"},
		{"a member twice", single, []byte(`{"creditorName":"Other",` + complete[1:]), nil, 400, "FORMAT_ERROR"},
		{"a member twice, with a capital letter", single, []byte(`{"CreditorName":"Other",` + complete[1:]), nil, 400, "FORMAT_ERROR"},
		{"a list that is not JSON", bulk, []byte(`{"payments":[x]}`), nil, 400, "FORMAT_ERROR"},
		{"a list without a comma", bulk, []byte(`{"payments":[{} {}]}`), nil, 400, "FORMAT_ERROR"},
		{"a list without an end", bulk, []byte(`{"payments":[{"creditorName":"Sh`), nil, 400, "FORMAT_ERROR"},
		{"too many levels of a member that the bank ignores", single, []byte(`{"exchangeRateInformation":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + "," + complete[1:]), nil, 400, "FORMAT_ERROR"},
		{"text after the object", single, []byte(complete + "{}"), nil, 400, "FORMAT_ERROR"},
		{"too deep", single, []byte("{\"x\":" + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}"), nil, 400, "FORMAT_ERROR"},
		{"too large", single, []byte("{\"x\":\"" + strings.Repeat("x", 2<<20) + "\"}"), nil, 400, "FORMAT_ERROR"},
		{"a number for a name", single, order(map[string]any{"creditorName": 7}), nil, 400, "FORMAT_ERROR"},
		{"no name", single, order(map[string]any{"creditorName": ""}), nil, 400, "FORMAT_ERROR"},
		{"a long name", single, order(map[string]any{"creditorName": strings.Repeat("é", 71)}), nil, 400, "FORMAT_ERROR"},
		{"a wrong IBAN", single, order(map[string]any{"creditorAccount": map[string]any{"iban": "FR7630006000011234567890188"}}), nil, 400, "FORMAT_ERROR"},
		{"no IBAN", single, order(map[string]any{"creditorAccount": map[string]any{"bban": "1"}}), nil, 400, "FORMAT_ERROR"},
		{"a wrong BIC", single, order(map[string]any{"creditorAgent": "BANK"}), nil, 400, "FORMAT_ERROR"},
		{"a long reference", single, order(map[string]any{"endToEndIdentification": strings.Repeat("1", 36)}), nil, 400, "FORMAT_ERROR"},
		{"a long text", single, order(map[string]any{"remittanceInformationUnstructured": strings.Repeat("1", 141)}), nil, 400, "FORMAT_ERROR"},
		{"nothing", single, amount("0.00", "EUR"), nil, 400, "FORMAT_ERROR"},
		{"less than nothing", single, amount("-1", "EUR"), nil, 400, "FORMAT_ERROR"},
		{"a tenth of a cent", single, amount("1.001", "EUR"), nil, 400, "FORMAT_ERROR"},
		{"too much", single, amount("15000.01", "EUR"), nil, 400, "FORMAT_ERROR"},
		{"dollars", single, amount("1.00", "USD"), nil, 400, "FORMAT_ERROR"},
		{"an account of nobody", single, order(map[string]any{"debtorAccount": map[string]any{"iban": iban}}), nil, 400, "RESOURCE_UNKNOWN"},
		{"an account of another", single, order(map[string]any{"debtorAccount": map[string]any{"iban": w.mine("redirect")}}), headers{"PSU-ID": "bert"}, 400, "RESOURCE_UNKNOWN"},
		{"yesterday", single, order(map[string]any{"requestedExecutionDate": date(-1)}), nil, 400, "EXECUTION_DATE_INVALID"},
		{"far away", single, order(map[string]any{"requestedExecutionDate": date(366)}), nil, 400, "EXECUTION_DATE_INVALID"},
		{"no date", single, order(map[string]any{"requestedExecutionDate": "soon"}), nil, 400, "FORMAT_ERROR"},
		{"instant, tomorrow", "v1/payments/instant-sepa-credit-transfers", order(map[string]any{"requestedExecutionDate": date(1)}), nil, 400, "EXECUTION_DATE_INVALID"},
		{"an unknown product", "v1/payments/gold", order(nil), nil, 404, "PRODUCT_UNKNOWN"},
		{"an unknown service", "v1/gold-payments/sepa-credit-transfers", order(nil), nil, 404, "PRODUCT_UNKNOWN"},
		{"an empty bulk", bulk, map[string]any{"payments": []any{}}, nil, 400, "FORMAT_ERROR"},
		{"a large bulk", bulk, map[string]any{"payments": slicesOf(51)}, nil, 400, "FORMAT_ERROR"},
		{"a bulk with a wrong line", bulk, map[string]any{"payments": []any{order(nil), order(map[string]any{"creditorName": ""})}}, nil, 400, "FORMAT_ERROR"},
		{"no frequency", standing, periodic(map[string]any{"frequency": "Hourly"}), nil, 400, "FORMAT_ERROR"},
		{"no start", standing, order(map[string]any{"frequency": "Monthly"}), nil, 400, "FORMAT_ERROR"},
		{"a start that is over", standing, periodic(map[string]any{"startDate": date(-1)}), nil, 400, "EXECUTION_DATE_INVALID"},
		{"an end before the start", standing, periodic(map[string]any{"endDate": date(0)}), nil, 400, "PERIOD_INVALID"},
		{"a rule that is none", standing, periodic(map[string]any{"executionRule": "never"}), nil, 400, "FORMAT_ERROR"},
		{"day 32", standing, periodic(map[string]any{"dayOfExecution": "32"}), nil, 400, "FORMAT_ERROR"},
		{"day 01", standing, periodic(map[string]any{"dayOfExecution": "01"}), nil, 400, "FORMAT_ERROR"},
		{"months without the frequency", standing, periodic(map[string]any{"monthsOfExecution": []string{"1"}}), nil, 400, "FORMAT_ERROR"},
		{"the frequency without months", standing, periodic(map[string]any{"frequency": "MonthlyVariable"}), nil, 400, "FORMAT_ERROR"},
		{"a month with a leading zero", standing, periodic(map[string]any{"frequency": "MonthlyVariable", "monthsOfExecution": []string{"02"}}), nil, 400, "FORMAT_ERROR"},
		{"a month with a sign", standing, periodic(map[string]any{"frequency": "MonthlyVariable", "monthsOfExecution": []string{"+2"}}), nil, 400, "FORMAT_ERROR"},
		{"a month twice", standing, periodic(map[string]any{"frequency": "MonthlyVariable", "monthsOfExecution": []string{"1", "1"}}), nil, 400, "FORMAT_ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer w.within(t)()
			w.refused(c.status, c.code, "POST", w.address("redirect", c.path), c.body, present(c.headers))
		})
	}
	if all, _ := w.steer("GET", "redirect/orders", nil).at("orders").([]any); len(all) != 0 {
		t.Errorf("the bank took %d of the orders it refused", len(all))
	}
}

// within makes the fixture report failures to a subtest.
func (w *fixture) within(t *testing.T) (restore func()) {
	outer := w.t
	w.t = t
	return func() { w.t = outer }
}

func slicesOf(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = order(nil)
	}
	return all
}

// TestSignaturesAreVerified checks that the bank refuses a signed order if its signature, digest or
// certificate is wrong. The bank's errors must have the form of RFC 7807.
func TestSignaturesAreVerified(t *testing.T) {
	w := newFixture(t, "signed")
	send := func(spoil func(*http.Request), certificate string) reply {
		body := []byte(`{"creditorName":"Shop","instructedAmount":{"currency":"EUR","amount":"1.00"},"creditorAccount":{"iban":"` + iban + `"}}`)
		request, err := http.NewRequestWithContext(t.Context(), "POST", w.address("signed", single), bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Request-ID", uuid())
		request.Header.Set("Content-Type", "application/json")
		w.signAs(request, present(headers{"PSU-ID": "anna"}), certificate)
		spoil(request)
		answer, err := w.client("qwac").Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return readReply(t, answer)
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	replace := func(name, old, new string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, strings.Replace(r.Header.Get(name), old, new, 1)) }
	}
	for _, c := range []struct {
		name        string
		certificate string
		spoil       func(*http.Request)
		status      int
		code        string
	}{
		{"right", "qsealc", func(*http.Request) {}, 201, ""},
		{"no signature", "qsealc", set("Signature", ""), 401, "SIGNATURE_MISSING"},
		{"no certificate", "qsealc", set("TPP-Signature-Certificate", ""), 401, "CERTIFICATE_MISSING"},
		{"no such certificate", "qsealc", set("TPP-Signature-Certificate", "AAAA"), 401, "CERTIFICATE_INVALID"},
		{"an expired certificate", "expired-qsealc", func(*http.Request) {}, 401, "CERTIFICATE_EXPIRED"},
		{"a certificate of another authority", "foreign-qsealc", func(*http.Request) {}, 401, "CERTIFICATE_INVALID"},
		{"a certificate of another party", "other-qwac", func(*http.Request) {}, 401, "CERTIFICATE_INVALID"},
		{"no digest", "qsealc", set("Digest", ""), 400, "FORMAT_ERROR"},
		{"MD5", "qsealc", set("Digest", "MD5=AAAA"), 400, "FORMAT_ERROR"},
		{"a digest of another body", "qsealc", set("Digest", "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), 401, "SIGNATURE_INVALID"},
		{"another request id", "qsealc", set("X-Request-ID", uuid()), 401, "SIGNATURE_INVALID"},
		{"another way back", "qsealc", set("TPP-Redirect-URI", "https://evil.example/"), 401, "SIGNATURE_INVALID"},
		{"a header that is not covered", "qsealc", replace("Signature", " psu-id", ""), 401, "SIGNATURE_INVALID"},
		{"another serial number", "qsealc", replace("Signature", "SN=", "SN=1"), 401, "SIGNATURE_INVALID"},
		{"another issuer", "qsealc", replace("Signature", "CA=CN=Example", "CA=CN=Other"), 401, "SIGNATURE_INVALID"},
		{"another algorithm", "qsealc", replace("Signature", "rsa-sha256", "none"), 401, "SIGNATURE_INVALID"},
	} {
		r := send(c.spoil, c.certificate)
		if r.status != c.status || r.code() != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.status, r.raw, c.status, c.code)
		}
		if c.code != "" && r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: the error comes as %s", c.name, r.header.Get("Content-Type"))
		}
	}
}

func TestSignedDatesAreHeldAgainstTheClock(t *testing.T) {
	w := newFixture(t, "signed")
	old := headers{"Date": time.Now().Add(-10 * time.Minute).UTC().Format(http.TimeFormat)}
	w.refused(400, "TIMESTAMP_INVALID", "POST", w.address("signed", single), order(nil), present(old))
}
