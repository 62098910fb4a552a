package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"passerelle/webhook"
)

// This receiver of PAYMENT_STATE_UPDATED responds with 204 when the payload is authentic, and with
// 401 otherwise. Your receiver must use time.Now instead of the fixed instant.
func ExampleVerifier_Read() {
	now := func() time.Time { return time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC) }
	verifier := webhook.Verifier{Secret: "the secret_key shown when the provider was created"}
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := verifier.Read(r, now())
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println("received", string(payload))
		w.WriteHeader(http.StatusNoContent)
	})

	const body = `{"id_webhook_data":7,"state":"done"}`
	request := httptest.NewRequest(http.MethodPost, "/payments/state", strings.NewReader(body))
	webhook.Sign(verifier.Secret, "/payments/state", now(), []byte(body)).Set(request.Header)
	answer := httptest.NewRecorder()
	receiver.ServeHTTP(answer, request)
	fmt.Println("answered", answer.Code)
	// Output:
	// received {"id_webhook_data":7,"state":"done"}
	// answered 204
}

// This receiver handles an event once, even if it receives the event several times. Your receiver
// must use a database table instead of the map.
func ExampleVerify() {
	const secret = "the secret_key shown when the provider was created"
	handled := map[int64]bool{}
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := webhook.Verify(r, secret, webhook.DefaultTolerance); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var payload struct {
			ID    int64 `json:"id_webhook_data"`
			State string
		}
		if err := json.NewDecoder(r.Body).Decode(&payload); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if !handled[payload.ID] {
			handled[payload.ID] = true
			fmt.Println(r.Header.Get(webhook.EventHeader), payload.State)
		}
		w.WriteHeader(http.StatusNoContent)
	})

	const body = `{"id_webhook_data":7,"state":"done"}`
	for range 2 {
		request := httptest.NewRequest(http.MethodPost, "/payments/state", strings.NewReader(body))
		request.Header.Set(webhook.EventHeader, string(webhook.PaymentStateUpdated))
		webhook.Sign(secret, "/payments/state", time.Now(), []byte(body)).Set(request.Header)
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, request)
		fmt.Println("answered", answer.Code)
	}
	// Output:
	// PAYMENT_STATE_UPDATED done
	// answered 204
	// answered 204
}
