package passerelle_test

import (
	"net/url"
	"strings"
	"testing"

	"passerelle"
)

func TestParseRedirectURI(t *testing.T) {
	for _, s := range []string{
		"https://client.example/callback", "http://localhost:3000/", "https://client.example", "HTTPS://client.example/cb",
		"https://client.example:8443/a/b;c=d/%C3%A9", "http://[::1]:8080/cb", "http://127.0.0.1/cb",
		"https://client.example/" + strings.Repeat("x", passerelle.MaxURL-len("https://client.example/")),
	} {
		if got, err := passerelle.ParseRedirectURI("client_redirect_uri", s); err != nil || got != s {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
}

var badURLs = []string{
	"", "client.example/callback", "/callback", "//client.example/callback", "ftp://client.example/", "javascript:alert(1)",
	"https:", "https://", "https:///callback", "https:client.example", "https://:443/", "https://client.example:/",
	"https://client.example:0/", "https://client.example:65536/", "https://client.example:http/",
	"https://user@client.example/", "https://user:secret@client.example/", "https://@client.example/",
	"https://client.example/#", "https://client.example/#top", "https://client.example/a b", " https://client.example/",
	"https://client.example/\r\nLocation: https://other.example/", "https://client.example/\x00", "https://client.example/\u0085",
	"https://client.example/\x7f", "https://client.example\\@other.example/", "https://clïent.example/", "https://client.example/%zz",
	"https://client.example/" + strings.Repeat("x", passerelle.MaxURL),
	"https://client;sandbox/", "https://*/", "https://a,b.example/", "https://a'b.example/",
}

func TestURLsRefused(t *testing.T) {
	for _, s := range badURLs {
		_, err := passerelle.ParseRedirectURI("client_redirect_uri", s)
		wantField(t, err, "client_redirect_uri")
		_, err = passerelle.ParseReturnURL("webview_url", s)
		wantField(t, err, "webview_url")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v repeats the URL", err)
		}
	}
}

// A host with other letters is refused with the way to write it. Percent-encoding helps only in the
// rest of a URL.
func TestHostsInOtherAlphabets(t *testing.T) {
	for s, want := range map[string]string{
		"https://пример.рф/":                           "write a name with other letters in Punycode",
		"https://пример.рф":                            "write a name with other letters in Punycode",
		"https://" + url.PathEscape("пример.рф") + "/": "write a name with other letters in Punycode",
		"https://client.example/пример":                "percent-encoded",
		"https://client.example/a b":                   "percent-encoded",
	} {
		if _, err := passerelle.ParseRedirectURI("client_redirect_uri", s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error %v does not say: %s", s, err, want)
		}
	}
	const punycode = "https://xn--e1afmkfd.xn--p1ai/"
	if _, err := passerelle.ParseRedirectURI("client_redirect_uri", punycode); err != nil {
		t.Errorf("%s: %v", punycode, err)
	}
}

func TestQueryOnlyInReturnURL(t *testing.T) {
	for _, s := range []string{"https://client.example/cb?", "https://client.example?a=1", "https://client.example/cb?a=1&b=%20"} {
		if got, err := passerelle.ParseReturnURL("webview_url", s); err != nil || got != s {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
		_, err := passerelle.ParseRedirectURI("client_redirect_uri", s)
		wantField(t, err, "client_redirect_uri")
	}
}

func FuzzParseRedirectURI(f *testing.F) {
	f.Add("https://client.example:8443/a/b;c=d/%C3%A9")
	f.Add("http://[::1%25eth0]/")
	for _, s := range badURLs {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := passerelle.ParseRedirectURI("client_redirect_uri", s)
		if err != nil {
			wantField(t, err, "client_redirect_uri")
			return
		}
		if got != s {
			t.Fatalf("%q became %q", s, got)
		}
		if got, err := passerelle.ParseReturnURL("webview_url", s); err != nil || got != s {
			t.Fatalf("%q is no return URL: %q, %v", s, got, err)
		}
		u, err := url.Parse(got + "?state=x")
		if err != nil || u.Query().Get("state") != "x" || u.RawQuery != "state=x" || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q with a state is %v, %v", s, u, err)
		}
	})
}
