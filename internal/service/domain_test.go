package service_test

import (
	"errors"
	"testing"

	"passerelle"
	"passerelle/internal/service"
)

func TestBaseURLs(t *testing.T) {
	const sandboxed, live = passerelle.Sandbox, passerelle.Live
	for _, test := range []struct {
		kind passerelle.DomainKind
		url  string
		host string // empty when the URL is refused
	}{
		{live, "https://bank.example/2.0", "bank.example"},
		{live, "https://Bank.Example:8443/2.0", "bank.example:8443"},
		{live, "https://[2001:db8::1]/2.0", "[2001:db8::1]"},
		{live, "http://127.0.0.1:8080/2.0", "127.0.0.1:8080"},
		{live, "http://localhost/2.0", "localhost"},
		{live, "http://bank.example/2.0", ""},
		{sandboxed, "http://bank.example/2.0", "bank.example"},
		{sandboxed, "https://bank.example:443/2.0", ""},
		{sandboxed, "http://bank.example:80/2.0", ""},
		{sandboxed, "https://bank.example:/2.0", ""},
		{sandboxed, "https://bank.example:0/2.0", ""},
		{sandboxed, "https://bank.example", ""},
		{sandboxed, "https://bank.example/2.0/", ""},
		{sandboxed, "https://bank.example/2.0?", ""},
		{sandboxed, "https://bank.example/2.0#top", ""},
		{sandboxed, "https://bank.example/2.0#", ""},
		{sandboxed, "https://bank.example/2%2E0", ""},
		{sandboxed, "https://user@bank.example/2.0", ""},
		{sandboxed, "https://bank;x.example/2.0", ""},
		{sandboxed, "https://bank.example,other/2.0", ""},
		{sandboxed, "https:///2.0", ""},
		{sandboxed, "ftp://bank.example/2.0", ""},
		{sandboxed, " https://bank.example/2.0", ""},
	} {
		host, err := service.HostOf(test.kind, test.url)
		if host != test.host || (test.host == "") != errors.Is(err, passerelle.Invalid) {
			t.Errorf("%s domain at %q: got %q and %v, want %q", test.kind, test.url, host, err, test.host)
		}
	}
}
