package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unseen is a secret that no response may contain.
const unseen = "canary-5f1c"

const oauthDraft = `{"type":"oauth","name":"o","config":{"url":"https://login.client.example/token?a=b","client_id":"passerelle","client_secret":"` + unseen + `","grant_type":"client_credentials"}}`

func certificate(t testing.TB, until time.Time) (public, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "passerelle"}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	issued, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	return block("CERTIFICATE", issued), block("PRIVATE KEY", der)
}

func endpointEdits(t testing.TB) []edit {
	public, private := certificate(t, opening.AddDate(1, 0, 0))
	_, another := certificate(t, opening.AddDate(1, 0, 0))
	expired, itsKey := certificate(t, time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC))
	pair := func(name, public, private, field string) edit {
		return edit{name: name, set: map[string]any{"config.public_cert": public, "config.private_cert": private}, field: field}
	}
	edits := one("config.url", badRedirects()...)
	edits = append(edits, one("config.grant_type", "password", "", "CLIENT_CREDENTIALS")...)
	edits = append(edits, one("config.client_id", strings.Repeat("x", 1025))...)
	edits = append(edits, one("config.client_secret", strings.Repeat("x", 1025))...)
	edits = append(edits,
		pair("no certificate", "x", private, "config.public_cert: must be a certificate in PEM"),
		pair("a key for a certificate", private, private, "config.public_cert: must be a certificate in PEM"),
		pair("a broken certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", private, "config.public_cert: must be a certificate in PEM"),
		pair("no key", public, "x", "config.private_cert: must be an unencrypted private key in PEM"),
		pair("a certificate for a key", public, public, "config.private_cert: must be an unencrypted private key in PEM"),
		pair("an encrypted key", public, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "config.private_cert: must be an unencrypted private key in PEM"),
		pair("another's key", public, another, "config.private_cert: does not belong to config.public_cert"),
		pair("an expired certificate", expired, itsKey, "config.public_cert: expired on 2026-11-19"),
		pair("a large certificate", public+strings.Repeat("x", 32<<10), private, "config.public_cert: longer than 32768 characters"),
		pair("a large key", public, private+strings.Repeat("x", 8<<10), "config.private_cert: longer than 8192 characters"),
	)
	for field, missed := range map[string]string{
		"config.url": "", "config.client_id": "", "config.client_secret": "", "config.public_cert": "config.public_cert", "config.private_cert": "config.private_cert",
	} {
		set := map[string]any{field: ""}
		if missed != "" {
			set = map[string]any{"config.public_cert": public, "config.private_cert": private, field: ""}
		}
		edits = append(edits, edit{name: "no " + field, set: set, field: field + ": is required", code: "missingParameter"})
	}
	return edits
}

func TestProviderScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	create := func(body string) ask { return config("POST", "/webhooks/auth", body) }
	without := func(member string) string {
		return strings.Replace(oauthDraft, `"`+member+`"`, `"`+member+`_"`, 1)
	}
	inLive := ask{domain: "live", method: "POST", path: "/webhooks/auth", token: "config", body: strings.Replace(oauthDraft, "https", "http", 1)}
	play(t, "providers", []scenario{
		{name: "list none", status: 200, ask: config("GET", "/webhooks/auth", "")},
		{name: "create", status: 200, rows: aProvider, ask: create(oauthDraft)},
		{name: "create one of the same name", status: 409, ask: create(oauthDraft)},
		{name: "create one that signs of the same name", status: 409, ask: create(`{"type":"hmac_signature","name":"o"}`)},
		{name: "create one that signs", status: 200, rows: aProvider, ask: create(`{"type":"hmac_signature","name":"s"}`)},
		{name: "create one that signs with a token endpoint", status: 400, ask: create(strings.Replace(oauthDraft, `"oauth"`, `"hmac_signature"`, 1))},
		{name: "create without config", status: 400, ask: create(`{"type":"oauth","name":"x"}`)},
		{name: "create without url", status: 400, ask: create(without("url"))},
		{name: "create without client_id", status: 400, ask: create(without("client_id"))},
		{name: "create without client_secret", status: 400, ask: create(without("client_secret"))},
		{name: "create without grant_type", status: 400, ask: create(without("grant_type"))},
		{name: "create without TLS in a live domain", status: 400, ask: inLive},
		{name: "create with a form", status: 400, ask: ask{method: "POST", path: "/webhooks/auth", token: "config", contentType: "application/x-www-form-urlencoded", body: "type=oauth&name=x&config=y"}},
		{name: "list", status: 200, ask: config("GET", "/webhooks/auth", "")},
		{name: "list the first", status: 200, ask: config("GET", "/webhooks/auth?limit=1", "")},
		{name: "list the second", status: 200, ask: config("GET", "/webhooks/auth?limit=1&offset=1", "")},
		{name: "list by name", status: 200, ask: config("GET", "/webhooks/auth?name=s", "")},
		{name: "list by a name that nobody has", status: 200, ask: config("GET", "/webhooks/auth?name=S", "")},
		{name: "list by a name of another domain", status: 200, ask: ask{domain: "other", method: "GET", path: "/webhooks/auth?name=s", token: "config"}},
		{name: "list with limit 0", status: 400, ask: config("GET", "/webhooks/auth?limit=0", "")},

		{name: "change a token endpoint", status: 200, rows: anAct, ask: config("PUT", "/webhooks/auth/{oauth}", `{"name":"renamed","config":{"url":"https://b.example/t","client_id":"c","client_secret":"`+unseen+`"}}`)},
		{name: "change one that signs", status: 200, rows: anAct, ask: config("POST", "/webhooks/auth/{provider}", `{"name":"signer"}`)},
		{name: "change one that signs to a token endpoint", status: 400, ask: config("POST", "/webhooks/auth/{provider}", `{"config":{"url":"https://b.example/t"}}`)},
		{name: "change to a name in use", status: 409, ask: config("POST", "/webhooks/auth/{provider}", `{"name":"o"}`)},
		{name: "change none", status: 404, ask: config("POST", "/webhooks/auth/"+noID, `{"name":"x"}`)},
		{name: "change another domain's", status: 404, ask: config("POST", "/webhooks/auth/{other:provider}", `{"name":"x"}`)},
		{name: "read none", status: 404, ask: config("GET", "/webhooks/auth/"+noID, "")},
		{name: "read what is no id", status: 404, ask: config("GET", "/webhooks/auth/signer", "")},
		{name: "read with a users token", status: 403, ask: ask{method: "GET", path: "/webhooks/auth/{provider}", token: "users"}},

		{name: "rotate none", status: 404, ask: config("POST", "/webhooks/auth/"+noID+"/rotate", "")},
		{name: "rotate another domain's", status: 404, ask: config("POST", "/webhooks/auth/{other:provider}/rotate", "")},
		{name: "rotate a token endpoint's", status: 400, ask: config("POST", "/webhooks/auth/{oauth}/rotate", "")},
		{name: "rotate for too long", status: 400, ask: config("POST", "/webhooks/auth/{provider}/rotate", `{"overlap":"30d1s"}`)},
		{name: "rotate for less than nothing", status: 400, ask: config("POST", "/webhooks/auth/{provider}/rotate", `{"overlap":"-1s"}`)},
		{name: "rotate for no duration", status: 400, ask: config("POST", "/webhooks/auth/{provider}/rotate", `{"overlap":"a day"}`)},

		{name: "delete", status: 204, rows: anAct, ask: config("DELETE", "/webhooks/auth/{provider}", "")},
		{name: "delete none", status: 404, ask: config("DELETE", "/webhooks/auth/"+noID, "")},
		{name: "delete another domain's", status: 404, ask: config("DELETE", "/webhooks/auth/{other:provider}", "")},
		{name: "delete all", status: 204, rows: anAct, ask: config("DELETE", "/webhooks/auth", "")},
		{name: "list after that", status: 200, ask: config("GET", "/webhooks/auth", "")},
		{name: "create one of a name that was deleted", status: 200, rows: aProvider, ask: create(oauthDraft)},
		{name: "create one that signs with an empty config", status: 200, rows: aProvider, ask: create(`{"type":"hmac_signature","name":"s","config":{}}`)},
	})
}

type shown struct {
	ID         int64
	Type, Name string
	Config     map[string]string
}

// Only the response that creates a signing secret contains this secret. No response contains the
// client secret or the private key of an OAuth provider.
func TestSecretsOfProvidersAreShownOnce(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		public, private := certificate(t, opening.AddDate(1, 0, 0))
		var seen strings.Builder
		do := func(method, path string, body any) (out shown) {
			a := ask{method: method, path: path, token: "config"}
			if body != nil {
				a.body = encoded(t, body)
			}
			r := s.do(t, a)
			seen.Write(r.body)
			if r.status == 200 && path != "/webhooks/auth" || method == "POST" {
				r.decode(t, &out)
			}
			return out
		}
		var draft map[string]any
		if err := json.Unmarshal([]byte(oauthDraft), &draft); err != nil {
			t.Fatal(err)
		}
		members := draft["config"].(map[string]any)
		members["public_cert"], members["private_cert"] = public, private
		made := do("POST", "/webhooks/auth", draft)
		path := "/webhooks/auth/" + strconv.FormatInt(made.ID, 10)
		want := shown{made.ID, "oauth", "o", map[string]string{"url": "https://login.client.example/token?a=b", "client_id": "passerelle", "grant_type": "client_credentials", "public_cert": public}}
		if diff := cmp.Diff(want, made); diff != "" {
			t.Errorf("made (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, do("GET", path, nil)); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
		do("PUT", path, map[string]any{"config": map[string]any{"client_secret": unseen + "2", "client_id": "other"}})
		do("POST", path, map[string]any{"config": map[string]any{"public_cert": "", "private_cert": ""}})
		want.Config = map[string]string{"url": want.Config["url"], "client_id": "other", "grant_type": "client_credentials"}
		if diff := cmp.Diff(want, do("GET", path, nil)); diff != "" {
			t.Errorf("shown after a change (-want +got):\n%s", diff)
		}
		do("GET", "/webhooks/auth", nil)

		signer := do("POST", "/webhooks/auth", map[string]any{"type": "hmac_signature", "name": "s"})
		path = "/webhooks/auth/" + strconv.FormatInt(signer.ID, 10)
		first := signer.Config["secret_key"]
		rotated := do("POST", path+"/rotate", map[string]any{"overlap": "2d"})
		second := rotated.Config["secret_key"]
		if len(first) != 64 || len(second) != 64 || first == second || rotated.Config["next_from"] != "2026-11-22 09:00:00" {
			t.Errorf("rotated %v to %v", signer, rotated)
		}
		for range 2 {
			if diff := cmp.Diff(shown{signer.ID, "hmac_signature", "s", map[string]string{"next_from": "2026-11-22 09:00:00"}}, do("GET", path, nil)); diff != "" {
				t.Errorf("shown during the overlap (-want +got):\n%s", diff)
			}
			do("PUT", path, map[string]any{"name": "s"})
		}
		s.pass(48 * time.Hour)
		if diff := cmp.Diff(shown{signer.ID, "hmac_signature", "s", nil}, do("GET", path, nil)); diff != "" {
			t.Errorf("shown after the overlap (-want +got):\n%s", diff)
		}
		at := do("POST", path+"/rotate", map[string]any{"overlap": "0s"})
		if _, overlaps := at.Config["next_from"]; overlaps || len(at.Config["secret_key"]) != 64 {
			t.Errorf("rotated at once to %v", at)
		}
		do("GET", "/webhooks/auth", nil)
		for _, secret := range []string{first, second, at.Config["secret_key"]} {
			if n := strings.Count(seen.String(), secret); n != 1 {
				t.Errorf("a secret was shown %d times", n)
			}
		}
		line := strings.Split(private, "\n")[1]
		for name, text := range map[string]string{"an answer": seen.String(), "the log": s.Logs.String()} {
			for _, word := range []string{unseen, line, "PRIVATE KEY"} {
				if strings.Contains(text, word) {
					t.Errorf("%s has %q", name, word)
				}
			}
		}
	})
}

// When a provider is deleted, its webhooks show a warning, and the service refuses to test and
// recover them. Another provider ends the warning.
func TestProvidersInUse(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		provider, free := s.thing(t, "", "provider"), s.thing(t, "", "oauth")
		s.thing(t, "other", "provider")
		config := func(method, path, body string) reply {
			return s.do(t, ask{method: method, path: path, token: "config", body: body})
		}
		var made struct{ ID int64 }
		config("POST", "/webhooks", `{"event":"USER_SYNCED","url":"https://client.example/","id_auth":`+provider+`}`).decode(t, &made)
		path := fmt.Sprintf("/webhooks/%d", made.ID)
		warned := func() bool {
			t.Helper()
			var out struct{ Warning *string }
			config("GET", path, "").decode(t, &out)
			return out.Warning != nil && strings.Contains(*out.Warning, "Nothing is sent, because the authentication provider was deleted.")
		}
		if warned() {
			t.Error("warned before anything was deleted")
		}
		config("DELETE", "/webhooks/auth/"+provider, "").says(t, 204, "", "")
		config("GET", "/webhooks/auth/"+provider, "").says(t, 404, "notFound", "")
		config("POST", "/webhooks", `{"event":"USER_SYNCED","url":"https://client.example/","id_auth":`+provider+`}`).says(t, 400, "invalidValue", "id_auth: ")
		if !warned() {
			t.Error("a webhook without its provider is not warned of")
		}
		config("POST", path+"/test", "").says(t, 409, "conflict", "was deleted; give it another one first")
		config("POST", path+"/recover", `{"since":"2026-11-20 00:00:00"}`).says(t, 409, "conflict", "was deleted; give it another one first")
		config("PUT", path, `{"id_auth":""}`).says(t, 400, "invalidValue", "id_auth: must be a provider")
		config("PUT", path, `{"id_auth":`+provider+`}`).says(t, 400, "invalidValue", "id_auth: no provider")
		config("PUT", path, `{"url":"https://client.example/elsewhere"}`).says(t, 200, "", "")
		if !warned() {
			t.Error("another URL is taken for another provider")
		}
		config("PUT", path, `{"id_auth":`+free+`}`).says(t, 200, "", "")
		if warned() {
			t.Error("still warned with another provider")
		}
		config("DELETE", "/webhooks/auth", "").says(t, 204, "", "")
		if !warned() {
			t.Error("not warned after all providers were deleted")
		}
		config("DELETE", path, "").says(t, 204, "", "")
		config("PUT", path, `{"deleted":null}`).says(t, 200, "", "")
		if !warned() {
			t.Error("a webhook that lives again has forgotten that its provider is gone")
		}
		for domainName, want := range map[string]int{"home": 0, "other": 1} {
			var out struct{ Total int }
			s.do(t, ask{domain: domainName, method: "GET", path: "/webhooks/auth", token: "config"}).decode(t, &out)
			if out.Total != want {
				t.Errorf("%s has %d providers, want %d", domainName, out.Total, want)
			}
		}
	})
}

// Calls about a provider work without the version in the path. They accept JSON, forms and query
// parameters.
func TestProvidersHoweverTheyAreCalled(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		call := func(method, path, contentType, body string) reply {
			return s.do(t, ask{bare: true, method: method, path: path, token: "config", contentType: contentType, body: body})
		}
		var made, out shown
		call("POST", "/webhooks/auth?type=hmac_signature&name=one", "application/json", "").decode(t, &made)
		path := fmt.Sprintf("/webhooks/auth/%d", made.ID)
		form, parts := "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
		for i, way := range []struct{ query, contentType, body string }{
			{"?name=two", "application/json", ""},
			{"", form, "name=three"},
			{"", parts, "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nfour\r\n--b--\r\n"},
			{"", "application/json", `{"name":"five"}`},
		} {
			call([]string{"POST", "PUT"}[i%2], path+way.query, way.contentType, way.body).decode(t, &out)
			if want := []string{"two", "three", "four", "five"}[i]; out.Name != want {
				t.Errorf("named %q, want %q", out.Name, want)
			}
		}
		for _, way := range []struct{ query, contentType, body string }{{"?overlap=1h", "application/json", ""}, {"", form, "overlap=1h"}, {"/", "application/json", `{"overlap":"1h"}`}} {
			out = shown{}
			call("POST", path+"/rotate"+way.query, way.contentType, way.body).decode(t, &out)
			if out.Config["next_from"] != "2026-11-20 10:00:00" {
				t.Errorf("rotated to %v", out)
			}
		}
		call("DELETE", path, "", "").says(t, 204, "", "")
		call("DELETE", "/webhooks/auth/", "", "").says(t, 204, "", "")
	})
}

func TestPagesOfProviders(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for range 5 {
			s.thing(t, "", "provider")
			s.thing(t, "", "oauth")
		}
		type page struct {
			List  []shown `json:"authproviders"`
			Total int
			Links map[string]*struct{ Href string } `json:"_links"`
		}
		var whole []int64
		read := func(path string) (out page) {
			s.do(t, ask{method: "GET", path: path, token: "config"}).decode(t, &out)
			if out.Total != 10 {
				t.Errorf("%s: total %d", path, out.Total)
			}
			return out
		}
		ids := func(p page) (all []int64) {
			for _, one := range p.List {
				all = append(all, one.ID)
			}
			return all
		}
		at := func(link *struct{ Href string }) string { _, path, _ := strings.Cut(link.Href, "/2.0"); return path }
		whole = ids(read("/webhooks/auth"))
		p := read("/webhooks/auth?limit=4")
		got := ids(p)
		for p.Links["next"] != nil {
			p = read(at(p.Links["next"]))
			got = append(got, ids(p)...)
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("forwards (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(whole[4:8], ids(read(at(p.Links["prev"])))); diff != "" {
			t.Errorf("backwards (-want +got):\n%s", diff)
		}
	})
}
