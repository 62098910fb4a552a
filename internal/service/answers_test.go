package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// api is a service on which a user has shared the accounts of a simulated institution.
type api struct {
	*service.Service
	token string
}

func (a *api) do(t *testing.T, method, path, body string) (servicetest.Answer, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.Addr()+"/2.0"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "test.example"
	r.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.Answer{Status: answer.StatusCode, Body: content}, answer.Header
}

func (a *api) ok(t *testing.T, method, path, body string) string {
	t.Helper()
	got, _ := a.do(t, method, path, body)
	if got.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	return string(got.Body)
}

func withAccounts(t *testing.T, c service.Config) *api {
	t.Helper()
	c.Loopback = true
	a := &api{Service: opened(t, c)}
	a.Start()
	var user struct {
		Token string `json:"auth_token"`
	}
	if err := json.Unmarshal([]byte(a.ok(t, http.MethodPost, "/auth/init", "")), &user); err != nil {
		t.Fatal(err)
	}
	a.token = user.Token
	a.ok(t, http.MethodPost, "/users/me/connections", `{"connector_uuid": "338178e6-3d01-564f-9a7b-52ca442459bf", "login": "anna", "password": "1234"}`)
	a.ok(t, http.MethodPut, "/users/me/accounts?all", `{"disabled": false}`)
	return a
}

// nested embeds so many objects in each account that they need room.
const nested = "expand=connection[connector,all_accounts,all_subscriptions,sources]"

// TestNoRoomForAnAnswer checks that the API refuses long lists and long expansions when there is no
// memory for them. It must still send short responses. A call that changes something must succeed,
// without the expansion.
func TestNoRoomForAnAnswer(t *testing.T) {
	a := withAccounts(t, service.Config{Database: storetest.SQLite(t), MaxResponses: 1})
	for _, path := range []string{"/connectors", "/users/me/accounts?" + nested} {
		got, header := a.do(t, http.MethodGet, path, "")
		if header.Get("Retry-After") != "1" {
			t.Errorf("%s: refused without when to come again: %v", path, header)
		}
		refused(t, got, http.StatusServiceUnavailable, "unavailable")
	}
	for _, path := range []string{"/connectors?limit=16", "/users/me/accounts", "/users/me/accounts?expand=connection"} {
		a.ok(t, http.MethodGet, path, "")
	}
	for disabled, want := range map[bool]string{true: `"disabled":"2`, false: `"disabled":null`} {
		body := a.ok(t, http.MethodPut, "/users/me/accounts?all&"+nested, fmt.Sprintf(`{"disabled": %t}`, disabled))
		if strings.Contains(body, `"connection":`) || !strings.Contains(body, want) {
			t.Errorf("disabled %t: %.1000s", disabled, body)
		}
	}
}

// TestRoomForAnswersComesBack makes calls one after the other whose responses only fit alone.
func TestRoomForAnswersComesBack(t *testing.T) {
	a := withAccounts(t, service.Config{Database: storetest.SQLite(t), MaxResponses: 64 << 10})
	for range 4 {
		a.ok(t, http.MethodGet, "/connectors", "")
		if body := a.ok(t, http.MethodGet, "/users/me/accounts?"+nested, ""); !strings.Contains(body, `"all_accounts":`) {
			t.Errorf("nothing embedded in %d bytes", len(body))
		}
	}
}

// TestNoRoomForLongPayments checks that a list of payments needs room for their instructions.
func TestNoRoomForLongPayments(t *testing.T) {
	a := &api{Service: opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, MaxResponses: 1})}
	a.Start()
	d, err := a.DB.DomainByName(t.Context(), "test.example")
	if err != nil {
		t.Fatal(err)
	}
	client, _, err := a.Access.Register(t.Context(), d.ID, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := a.Access.IssueService(t.Context(), client, passerelle.Scopes{passerelle.ScopePaymentsAdmin})
	if err != nil {
		t.Fatal(err)
	}
	a.token = grant.Text
	const line = `{"amount": 12.5, "currency": "EUR", "label": "Invoice", "execution_date_type": "first_open_day",
		"beneficiary": {"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Shop"}}`
	for _, lines := range []int{1, 20} {
		body := strings.TrimSuffix(strings.Repeat(line+",", lines), ",")
		a.ok(t, http.MethodPost, "/payments", `{"client_redirect_uri": "https://shop.example/back", "instructions": [`+body+`]}`)
	}
	a.ok(t, http.MethodGet, "/payments?limit=1", "")
	a.ok(t, http.MethodGet, "/payments/2", "")
	got, _ := a.do(t, http.MethodGet, "/payments", "")
	refused(t, got, http.StatusServiceUnavailable, "unavailable")
}
