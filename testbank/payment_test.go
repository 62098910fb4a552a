package testbank_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"passerelle/testbank/bank"
)

// iban is the IBAN of an account at another bank.
const iban = "FR7630006000011234567890189"

func (w *fixture) mine(name string) string {
	w.t.Helper()
	return w.steer("GET", name+"/accounts?customer=anna", nil).text("accounts", 1, "number")
}

func order(changes map[string]any) map[string]any {
	body := map[string]any{
		"instructedAmount": map[string]any{"currency": "EUR", "amount": "12.50"}, "creditorAccount": map[string]any{"iban": iban},
		"creditorName": "Shop", "remittanceInformationUnstructured": "Order 42", "endToEndIdentification": "E2E-1",
	}
	for name, value := range changes {
		body[name] = value
	}
	return body
}

func bodies(w *fixture, name string) map[string]map[string]any {
	debtor := map[string]any{"iban": w.mine(name)}
	element := order(nil)
	today := w.steer("GET", name+"/clock", nil).text("now")[:10]
	all := map[string]map[string]any{
		bank.Single:   order(map[string]any{"debtorAccount": debtor}),
		bank.Bulk:     {"debtorAccount": debtor, "payments": []any{element, element}},
		bank.Periodic: order(map[string]any{"debtorAccount": debtor, "startDate": today, "endDate": today, "frequency": "Monthly"}),
	}
	if p, _ := bank.ProfileNamed(name); p.DebtorAccount == bank.Refused {
		for _, body := range all {
			delete(body, "debtorAccount")
		}
	}
	return all
}

type answers string

const (
	approves answers = "approve"
	refuses  answers = "refuse"
	nothing  answers = "nothing"
)

// authorise does all steps after the first response to an order, cancellation or consent.
func (w *fixture) authorise(p bank.Profile, first reply, does answers) {
	w.t.Helper()
	times := 1
	if does == approves { // a customer who refuses does so for all signatories
		times = p.Signatories
	}
	for range times {
		w.authoriseOnce(p, first, does)
	}
}

func (w *fixture) authoriseOnce(p bank.Profile, first reply, does answers) {
	w.t.Helper()
	state := first
	for name := range links(first) {
		if strings.HasPrefix(name, "startAuthorisation") {
			state = w.call(http.StatusCreated, "POST", w.address(p.Name, first.link(name)), map[string]any{}, present(headers{"PSU-ID": w.signatory(p)}))
		}
	}
	if does == nothing {
		return
	}
	drivers := map[bank.Approach]func(bank.Profile, reply, answers){
		bank.Redirect: w.redirect, bank.OAuth: w.oauth, bank.Decoupled: w.decoupled, bank.Embedded: w.embedded,
	}
	drivers[p.SCA[0]](p, state, does)
}

// signatory returns the customer who authorises next. At a bank with one signatory, this is Anna.
func (w *fixture) signatory(p bank.Profile) string {
	if p.Signatories > 1 {
		if w.turn++; w.turn%2 == 0 {
			return "bert"
		}
	}
	return "anna"
}

func links(r reply) map[string]any {
	all, _ := r.at("_links").(map[string]any)
	return all
}

func (w *fixture) redirect(p bank.Profile, state reply, does answers) {
	w.t.Helper()
	back := w.browse(state.link("scaRedirect"), url.Values{"decision": {string(does)}})
	wantBack := "https://third.example/back?state=s"
	if does == refuses {
		wantBack = "https://third.example/refused"
	}
	if !p.Confirmation || does == refuses {
		if back != wantBack {
			w.t.Errorf("the customer is sent to %s, want %s", back, wantBack)
		}
		return
	}
	sent, _ := url.Parse(back)
	if got := w.call(http.StatusOK, "GET", w.address(p.Name, state.link("scaStatus")), nil, nil).text("scaStatus"); got != "unconfirmed" {
		w.t.Errorf("before the confirmation the authorisation is %s", got)
	}
	w.call(http.StatusOK, "PUT", w.address(p.Name, state.link("confirmation")), map[string]any{"confirmationCode": sent.Query().Get("confirmationCode")}, nil)
}

func (w *fixture) decoupled(p bank.Profile, state reply, does answers) {
	w.t.Helper()
	if state.text("psuMessage") == "" {
		w.t.Errorf("the customer is not told of the app: %s", state.raw)
	}
	id := last(state.link("scaStatus"))
	w.steer("POST", p.Name+"/authorisations/"+id, map[string]any{"decision": does})
}

func last(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func (w *fixture) embedded(p bank.Profile, state reply, does answers) {
	w.t.Helper()
	put := func(link string, want int, body map[string]any) {
		w.t.Helper()
		if state.link(link) == "" {
			w.t.Fatalf("there is no link %s: %s", link, state.raw)
		}
		address := w.address(p.Name, state.link(link))
		if state = w.call(want, "PUT", address, body, headers{"PSU-ID": "anna"}); want != http.StatusOK {
			state = w.call(http.StatusOK, "GET", address, nil, nil)
		}
	}
	if p.EncryptsPasswords {
		put("updateEncryptedPsuAuthentication", http.StatusBadRequest, map[string]any{"psuData": map[string]any{"password": "1234"}})
		put("updateEncryptedPsuAuthentication", http.StatusBadRequest, map[string]any{"psuData": map[string]any{"encryptedPassword": "1234"}})
		put("updateEncryptedPsuAuthentication", http.StatusConflict, map[string]any{"psuData": map[string]any{"additionalEncryptedPassword": w.sealed("5678")}})
		put("updateEncryptedPsuAuthentication", http.StatusOK, map[string]any{"psuData": map[string]any{"encryptedPassword": w.sealed("1234")}})
		if does == approves {
			put("updateAdditionalEncryptedPsuAuthentication", http.StatusUnauthorized, map[string]any{"psuData": map[string]any{"additionalEncryptedPassword": w.sealed("1234")}})
		}
		put("updateAdditionalEncryptedPsuAuthentication", http.StatusOK, map[string]any{"psuData": map[string]any{"additionalEncryptedPassword": w.sealed("5678")}})
	} else {
		put("updatePsuAuthentication", http.StatusOK, map[string]any{"psuData": map[string]any{"password": "1234"}})
	}
	if methods, _ := state.at("scaMethods").([]any); len(methods) < 2 {
		w.t.Fatalf("there is no choice of methods: %s", state.raw)
	}
	put("selectAuthenticationMethod", http.StatusOK, map[string]any{"authenticationMethodId": "photo"})
	if does == refuses { // a customer refuses by leaving or by entering wrong codes
		for range 3 {
			put("authoriseTransaction", http.StatusUnauthorized, map[string]any{"scaAuthenticationData": "000000"})
		}
		if state.text("scaStatus") != "failed" {
			w.t.Errorf("after three wrong codes the authorisation is %s", state.raw)
		}
		return
	}
	for n := range p.Codes {
		if state.at("challengeData", "additionalInformation") == nil || n == 0 && state.at("challengeData", "image") == nil {
			w.t.Errorf("round %d has no challenge: %s", n, state.raw)
		}
		put("authoriseTransaction", http.StatusOK, map[string]any{"scaAuthenticationData": "123456"})
	}
	if state.text("scaStatus") != "finalised" {
		w.t.Errorf("after %d codes the authorisation is %s", p.Codes, state.raw)
	}
}

func (w *fixture) sealed(password string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.data, "certs", "passwords.pem"))
	if err != nil {
		w.t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: certificate.PublicKey}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	encrypted, err := encrypter.Encrypt([]byte(password))
	if err != nil {
		w.t.Fatal(err)
	}
	compact, err := encrypted.CompactSerialize()
	if err != nil {
		w.t.Fatal(err)
	}
	return compact
}

func (w *fixture) oauth(p bank.Profile, state reply, does answers) {
	w.t.Helper()
	path := strings.Split(state.link("scaStatus"), "/")
	scope := "PIS:" + path[len(path)-3]
	if path[len(path)-4] == "consents" {
		scope = "AIS:" + path[len(path)-3]
	}
	token := w.tokenFor(p, state.link("scaOAuth"), scope, does)
	if token.access == "" {
		return
	}
	if w.tokens[path[len(path)-3]] = &token; !p.Confirmation {
		return
	}
	at := w.address(p.Name, state.link("confirmation"))
	if got := w.call(http.StatusOK, "GET", at, nil, nil).text("scaStatus"); got != "unconfirmed" {
		w.t.Errorf("before the confirmation the authorisation is %s", got)
	}
	if got := w.call(http.StatusOK, "PUT", at, map[string]any{}, nil).text("scaStatus"); got != "finalised" {
		w.t.Errorf("confirmed with the token, the authorisation is %s", got)
	}
}

func (w *fixture) tokenFor(p bank.Profile, metadata, scope string, does answers) tokens {
	w.t.Helper()
	server := w.call(http.StatusOK, "GET", metadata, nil, nil)
	const verifier, redirect = "a-verifier-of-at-least-forty-three-characters-0", "https://third.example/back?state=s"
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{
		"response_type": {"code"}, "client_id": {"PSDDE-TEST-1"}, "redirect_uri": {redirect}, "scope": {scope}, "state": {"xyz"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	answer, err := w.client("").Get(server.text("authorization_endpoint") + "?" + ask.Encode())
	if err != nil {
		w.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("the authorisation endpoint answers with %d", answer.StatusCode)
	}
	page, err := answer.Location()
	if err != nil {
		w.t.Fatal(err)
	}
	back, err := url.Parse(w.browse(page.String(), url.Values{"decision": {string(does)}}))
	if err != nil || back.Query().Get("state") != "xyz" {
		w.t.Fatalf("the customer comes back with %v, %v", back, err)
	}
	if does == refuses {
		if back.Query().Get("error") != "access_denied" {
			w.t.Errorf("a refusal comes back with %v", back)
		}
		return tokens{}
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": back.Query()["code"], "client_id": {"PSDDE-TEST-1"}, "redirect_uri": {redirect}, "code_verifier": {verifier}}
	token := tokens{endpoint: server.text("token_endpoint")}
	w.exchange(&token, form)
	// A code is valid only once.
	w.call(http.StatusBadRequest, "POST", token.endpoint, []byte(form.Encode()), headers{"Content-Type": "application/x-www-form-urlencoded"})
	return token
}

func (w *fixture) exchange(t *tokens, form url.Values) {
	w.t.Helper()
	issued := w.call(http.StatusOK, "POST", t.endpoint, []byte(form.Encode()), headers{"Content-Type": "application/x-www-form-urlencoded"})
	t.access, t.refresh = issued.text("access_token"), issued.text("refresh_token")
}

// TestOrdersOfEveryProfile checks that at every bank, an order for each service and product ends
// with the status that follows from the customer's decision.
func TestOrdersOfEveryProfile(t *testing.T) {
	w := newFixture(t)
	for _, p := range bank.Profiles() {
		for service, products := range p.Products {
			for _, product := range products {
				for _, does := range []answers{approves, refuses, nothing} {
					t.Run(strings.Join([]string{p.Name, service, product, string(does)}, " "), func(t *testing.T) {
						defer w.within(t)()
						orderOf(w, p, service, product, does)
					})
				}
			}
		}
		w.right(p.Name)
	}
}

// naming returns the headers of an order. The headers name Anna if the bank requires the PSU-ID.
func naming(p bank.Profile) headers {
	if p.WantsPSU {
		return present(headers{"PSU-ID": "anna"})
	}
	return present(nil)
}

func orderOf(w *fixture, p bank.Profile, service, product string, does answers) {
	first := w.call(http.StatusCreated, "POST", w.address(p.Name, "v1/"+service+"/"+product), bodies(w, p.Name)[service], naming(p))
	if first.header.Get("Location") == "" || first.header.Get("ASPSP-SCA-Approach") == "" {
		w.t.Errorf("the answer says neither where the order is nor how it is authorised: %v", first.header)
	}
	status := w.address(p.Name, first.link("status"))
	current := func() string {
		w.t.Helper()
		return w.call(http.StatusOK, "GET", status, nil, nil).text("transactionStatus")
	}
	if got := current(); got != "RCVD" {
		w.t.Errorf("the new order is %s", got)
	}
	w.authorise(p, first, does)
	want := []string{p.LastStatus}
	if does != approves {
		want = []string{"RJCT"}
	}
	w.pass(p.Name, "25h")
	if got := current(); !slices.Contains(want, got) {
		w.t.Errorf("in the end the order is %s, want %v", got, want)
	}
	booked := w.orderOf(p.Name, first.text("paymentId"))["booked"]
	lines := map[string]float64{bank.Single: 1, bank.Bulk: 2, bank.Periodic: 1}[service]
	if does != approves {
		lines = 0
	}
	if booked != lines {
		w.t.Errorf("the books have %v movements of the order, want %v", booked, lines)
	}
}

// TestNobodyAuthorisesAnothersOrder checks that Bert cannot authorise an order for Anna's account,
// whether the third party names Bert at the start or later.
func TestNobodyAuthorisesAnothersOrder(t *testing.T) {
	w := newFixture(t, "embedded")
	body := bodies(w, "embedded")[bank.Single]
	first := w.call(201, "POST", w.address("embedded", single), body, present(nil))
	start, bert := first.link("startAuthorisationWithPsuAuthentication"), headers{"PSU-ID": "bert"}
	w.refused(401, "PSU_CREDENTIALS_INVALID", "POST", start, map[string]any{}, bert)
	begun := w.call(201, "POST", start, map[string]any{}, nil)
	address := begun.link("scaStatus")
	for _, step := range []map[string]any{{"psuData": map[string]any{"password": "1234"}}, {"authenticationMethodId": "sms"}} {
		w.call(200, "PUT", address, step, bert)
	}
	w.refused(401, "PSU_CREDENTIALS_INVALID", "PUT", address, map[string]any{"scaAuthenticationData": "123456"}, bert)
	if got := w.call(200, "GET", first.link("status"), nil, nil).text("transactionStatus"); got != "RCVD" {
		t.Errorf("the order is %s", got)
	}
}

func (w *fixture) orderOf(name, id string) map[string]any {
	w.t.Helper()
	all, _ := w.steer("GET", name+"/orders", nil).at("orders").([]any)
	for _, one := range all {
		if o, _ := one.(map[string]any); o["id"] == id {
			return o
		}
	}
	w.t.Fatalf("the bank has no order %s", id)
	return nil
}
