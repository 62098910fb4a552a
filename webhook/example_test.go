package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"passerelle/webhook"
)

// A receiver of PAYMENT_STATE_UPDATED: it answers 204 once the payload is
// authentic and 401 otherwise. Use time.Now in place of the fixed instant.
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
