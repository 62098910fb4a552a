package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The limits of TestAllocationsOfARequest are a quarter above the measured numbers.
func TestAllocationsOfARequest(t *testing.T) {
	s := newService(t)
	body := strings.NewReader("")
	for name, test := range map[string]struct {
		request *http.Request
		body    string
		most    float64
	}{
		"post": {post(benchBody).request(), benchBody, 106},
		"get":  {call{url: "/2.0/items?limit=3&all&parity=odd", token: "reader"}.request(), "", 119},
	} {
		t.Run(name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() {
				body.Reset(test.body)
				test.request.Body = readCloser{body}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, test.request)
				if w.Code != http.StatusOK {
					t.Fatal(w.Body)
				}
			})
			if got > test.most {
				t.Errorf("%.0f allocations, at most %.0f", got, test.most)
			}
		})
	}
}
