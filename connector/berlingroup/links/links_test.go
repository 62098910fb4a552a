package links_test

import (
	"testing"

	"passerelle/connector/berlingroup/links"
)

// TestTarget checks that a link leads to the server of the bank's API, which it may name with or
// without the port of https.
func TestTarget(t *testing.T) {
	for _, test := range []struct{ base, href, want string }{
		{"https://bank.example", "https://bank.example:443/v1/x", "https://bank.example/v1/x"},
		{"https://bank.example:443", "https://Bank.example/v1/x", "https://bank.example:443/v1/x"},
		{"https://bank.example", "https://bank.example:8443/v1/x", ""},
		{"https://bank.example:8443", "https://bank.example/v1/x", ""},
		{"https://bank.example", "http://bank.example:443/v1/x", ""},
		{"https://bank.example", "//elsewhere.example/v1/x", ""},
		{"https://bank.example", "https://user@bank.example/v1/x", ""},
		{"https://[2001:db8::1]", "https://[2001:db8::1]:443/v1/x", "https://[2001:db8::1]/v1/x"},
		{"https://bank.example", "/v1/x?page=2#end", "https://bank.example/v1/x?page=2"},
		{"https://bank.example/psd2", "/v1/x", "https://bank.example/psd2/v1/x"},
		{"https://bank.example/psd2", "v1/x", "https://bank.example/psd2/v1/x"},
		{"https://bank.example/psd2", "/psd2/v1/x", "https://bank.example/psd2/v1/x"},
		{"https://bank.example/psd2", "/downloads/7", "https://bank.example/downloads/7"},
		{"https://bank.example/v1", "/v1/v1/x", "https://bank.example/v1/v1/x"},
	} {
		if got, err := links.Target(test.base, test.href); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s at %s: %q, %v, want %q", test.href, test.base, got, err, test.want)
		}
	}
}

// TestBelow checks which part of a link's path follows a root, on any server.
func TestBelow(t *testing.T) {
	for _, test := range []struct{ root, href, want string }{
		{"/v1/x", "http://core.internal:8080/gate/v1/x/7/authorisations/a%2F1?page=2#end", "7/authorisations/a%2F1"},
		{"/v1/x", "/v1/x/7", "7"},
		{"/v1/x", "/v1/xy/7", ""},
		{"/v1/x", "/v1/x", ""},
		{"/v1/x", "http://core.internal:port/v1/x/7", ""},
		{"", "https://core.internal/v1/x/7", ""},
	} {
		if got := links.Below(test.root, test.href); got != test.want {
			t.Errorf("%s below %q: %q, want %q", test.href, test.root, got, test.want)
		}
	}
}

// TestAt checks the address at a base of links that end with a path, on any server.
func TestAt(t *testing.T) {
	for _, test := range []struct{ path, href, want string }{
		{"/v1/x", "http://core.internal:8080/gate/v1/x", "https://bank.example/psd2/v1/x"},
		{"/v1/x?status=booked", "http://core.internal:8080/gate/v1/x?page=2#end", "https://bank.example/psd2/v1/x?page=2"},
		{"/v1/x/a%2F1", "http://core.internal/v1/x/a%2F1", "https://bank.example/psd2/v1/x/a%2F1"},
		{"/v1/x", "http://core.internal:8080/gate/v1/x/y", ""},
		{"/v1/x", "http://core.internal:port/v1/x", ""},
		{"", "http://core.internal/v1/x", ""},
	} {
		if got := links.At("https://bank.example/psd2", test.path, test.href); got != test.want {
			t.Errorf("%s with the path %q: %q, want %q", test.href, test.path, got, test.want)
		}
	}
}
