package servicetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

const testConnector = "338178e6-3d01-564f-9a7b-52ca442459bf"

type paymentAnswer struct {
	ID          int64
	State       string
	Action      *string
	ValidateURI *string `json:"validate_uri"`
}

// TestFirstPayment makes the first payment of the README on both databases.
func TestFirstPayment(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		secret := s.Subscribe("PAYMENT_STATE_UPDATED", "first")
		token := s.Token("payments:admin")
		id := s.Create(token, servicetest.Draft())
		path := fmt.Sprint("/payments/", id)

		var p paymentAnswer
		s.JSON(s.OK(s.Call("POST", path, token, map[string]any{
			"connector_uuid": testConnector, "webview_url": "https://shop.example/webview?step=2", "validated": true,
		})), &p)
		if p.State != "validating" || p.Action == nil || *p.Action != "redirect" || p.ValidateURI == nil {
			t.Fatalf("after validation: %+v", p)
		}
		if back := approve(t, s, *p.ValidateURI); back != "https://shop.example/webview?step=2" {
			t.Errorf("the payer came back to %s", back)
		}
		s.JSON(s.OK(s.Call("GET", path, token, nil)), &p)
		if p.State != "done" || p.Action != nil || p.ValidateURI != nil {
			t.Errorf("in the end: %+v", p)
		}
		checkReceived(t, s.Received("first"), secret, "validating", "pending", "done")
	})
}

// approve approves on the bank's page, and follows the redirects to an address outside the service.
func approve(t *testing.T, s *servicetest.Instance, page string) (landed string) {
	t.Helper()
	form := strings.NewReader(url.Values{"decision": {"approve"}}.Encode())
	request, err := http.NewRequest("POST", page, form)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := s.Do(request)
	for answer.Status/100 == 3 {
		location := answer.Header.Get("Location")
		if !strings.HasPrefix(location, s.Origin) {
			return location
		}
		if request, err = http.NewRequest("GET", location, nil); err != nil {
			t.Fatal(err)
		}
		answer = s.Do(request)
	}
	t.Fatalf("the bank left the payer with %d: %s", answer.Status, answer.Body)
	return ""
}

func checkReceived(t *testing.T, got []servicetest.Received, secret string, want ...string) {
	t.Helper()
	var states []string
	ids := map[int64]bool{}
	for _, request := range got {
		var body struct {
			State string
			ID    int64 `json:"id_webhook_data"`
		}
		if err := json.Unmarshal([]byte(request.Body), &body); err != nil {
			t.Fatalf("body %q: %v", request.Body, err)
		}
		if ids[body.ID] || body.ID <= 0 {
			t.Errorf("id_webhook_data %d is not unique", body.ID)
		}
		ids[body.ID] = true
		states = append(states, body.State)
		verifier := webhook.Verifier{Secret: secret}
		if err := verifier.Verify(request.Headers, "/sandbox/receiver/first", []byte(request.Body), time.Now()); err != nil {
			t.Errorf("signature of %s: %v", body.State, err)
		}
	}
	if !slices.Equal(states, want) {
		t.Errorf("the receiver got %v, want %v", states, want)
	}
}

func TestUnknownPathsGetTheErrorBody(t *testing.T) {
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{})
	for _, path := range []string{"/2.0/transfers", "/2.0//payments", "/nothing", "/2.0/payments/1/../2", "/2.0/console"} {
		request, err := http.NewRequest("GET", s.Origin, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.URL.Opaque = path
		answer := s.Do(request)
		var body map[string]any
		s.JSON(answer, &body)
		if answer.Status != http.StatusNotFound || body["code"] != "notFound" || len(body) != 4 {
			t.Errorf("GET %s: %d %s", path, answer.Status, answer.Body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		response, err := http.Get(s.Origin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, response.StatusCode, body)
		}
	}
}

// The token of a payment is still valid when the payment becomes final, and has expired 61 minutes
// later.
func TestPaymentTokensEndWithThePayment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ahead := atomic.Int64{}
		s := servicetest.Start(t, url, servicetest.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		token := s.Token("payments:admin")
		path := fmt.Sprint("/payments/", s.Create(token, servicetest.Draft()))
		var code struct{ Token string }
		s.JSON(s.OK(s.Call("POST", path+"/scopedtoken", token, map[string]any{"scope": "payments:validate"})), &code)
		s.OK(s.Call("POST", path, token, map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/back"}))
		s.OK(s.Call("GET", path, code.Token, nil)) // the payer may still be on the way to the client
		if answer := s.Call("POST", path+"/scopedtoken", token, map[string]any{"scope": "payments:validate"}); answer.Status != http.StatusConflict {
			t.Errorf("a new token for a final payment: %d %s", answer.Status, answer.Body)
		}
		ahead.Store(int64(61 * time.Minute))
		if answer := s.Call("GET", path, code.Token, nil); answer.Status != http.StatusUnauthorized {
			t.Errorf("an hour later: %d %s", answer.Status, answer.Body)
		}
	})
}
