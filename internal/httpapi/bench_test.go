package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"
)

const benchBody = `{"name":"a chair","colour":"red","count":3,"amount":12.50,"unknown":"x",
	"fields":{"login":"a","password":"b"},"scope":["a","b"],
	"first":{"amount":"1.00","label":"abc","tags":["x","y"]},
	"lines":[{"amount":10.00,"label":"abc"},{"amount":2.50,"label":"def"},{"amount":0.01,"label":"ghi"}],
	"client_redirect_uri":"https://shop.example/back","client_state":"0123456789abcdef0123456789abcdef",
	"payer":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"Somebody"}}`

func BenchmarkPost(b *testing.B) {
	s := newService(b)
	c := post(benchBody)
	r := c.request()
	reader := strings.NewReader(benchBody)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(benchBody)
		r.Body = readCloser{reader}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func BenchmarkGet(b *testing.B) {
	s := newService(b)
	r := call{url: "/2.0/items?limit=3&all&parity=odd", token: "reader"}.request()
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
