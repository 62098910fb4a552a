package service_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/internal/servicetest"
)

// TestBankOfThePayer: the webview selects the bank of the payer's account. It does not list banks
// whose prefixes exclude this account. A payer with an account at an unknown bank can choose any
// bank, because a list of prefixes may be incomplete.
func TestBankOfThePayer(t *testing.T) {
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	for number, prefixes := range map[int]string{11: `iban_prefixes = ["DE..50010517"]`, 12: `iban_prefixes = ["DE..50010518"]`, 13: `bics = ["EXBKDEFF"]`} {
		file := strings.Replace(fmt.Sprintf(bankFile, number, number, fmt.Sprint("Bank ", number)), "sandbox = true", "sandbox = true\n"+prefixes, 1)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(number, ".toml")), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder, Quiet: true})
	token := s.Token("payments:admin")
	draft := servicetest.Draft()
	draft["instructions"].([]any)[0].(map[string]any)["execution_date_type"] = "first_open_day"
	draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE02500105170137075030", "label": "Anna"}
	id := s.Create(token, draft)
	uuid := func(number int) string { return fmt.Sprint("5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b", number) }

	refused := s.Call("POST", fmt.Sprint("/payments/", id), token, map[string]any{"connector_uuid": uuid(12), "webview_url": "https://shop.example/pay"})
	if refused.Status != http.StatusBadRequest || !strings.Contains(string(refused.Body), "nspPayer") {
		t.Errorf("a bank with other accounts: %d %s", refused.Status, refused.Body)
	}
	other := map[string]any{"scheme_name": "iban", "identification": "DE37500105180137075030", "label": "Anna"}
	refused = s.Call("POST", fmt.Sprint("/payments/", id), token, map[string]any{"connector_uuid": uuid(11), "payer": other, "webview_url": "https://shop.example/pay"})
	if refused.Status != http.StatusBadRequest || !strings.Contains(string(refused.Body), "payer.identification") {
		t.Errorf("an account of another bank: %d %s", refused.Status, refused.Body)
	}

	var code struct{ Token string }
	s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), token, map[string]any{"scope": "payments:validate"})), &code)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(query url.Values) string {
		t.Helper()
		query.Set("payment_id", fmt.Sprint(id))
		answer, err := (&http.Client{Jar: jar}).Get(s.Origin + "/webview/en/payment?" + query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("the webview answers %d %s %v", answer.StatusCode, page, err)
		}
		return string(page)
	}
	if page := open(url.Values{"client_id": {s.ClientID}, "code": {code.Token}}); !strings.Contains(page, `name="bank" value="`+uuid(11)) {
		t.Errorf("the page does not order with the payer's bank:\n%s", page)
	}
	list := url.Values{"bank": {"any"}, "country": {"any"}, "search": {"Bank 1"}}
	page := open(list)
	for bank, listed := range map[string]bool{"Bank 11": true, "Bank 12": false, "Bank 13": true} {
		if strings.Contains(page, bank) != listed {
			t.Errorf("%s is listed: %t", bank, !listed)
		}
	}

	draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "DE72500105190137075030", "label": "Anna"}
	id = s.Create(token, draft)
	s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), token, map[string]any{"scope": "payments:validate"})), &code)
	open(url.Values{"client_id": {s.ClientID}, "code": {code.Token}})
	page = open(list)
	for _, bank := range []string{"Bank 11", "Bank 12", "Bank 13"} {
		if !strings.Contains(page, bank) {
			t.Errorf("%s is not listed for an account of no bank", bank)
		}
	}
	s.OK(s.Call("POST", fmt.Sprint("/payments/", id), token, map[string]any{"connector_uuid": uuid(12), "webview_url": "https://shop.example/pay"}))
}
