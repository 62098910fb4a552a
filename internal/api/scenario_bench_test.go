package api_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"passerelle/internal/store/storetest"
)

// BenchmarkCreatePayment measures POST /payments through the complete handler, on a database file.
func BenchmarkCreatePayment(b *testing.B) {
	s := newFixture(b, storetest.SQLite(b))
	handler, token := s.API(), s.token(b, "", "admin", 0)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			request := httptest.NewRequest("POST", s.Base+"/payments", bytes.NewReader([]byte(minimalDraft)))
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, request)
			if w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
}
