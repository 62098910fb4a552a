package contract_test

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
)

const signatureShapes = `
SignHeader  alg (RS256), key_url url
SignPayload exactly request_url url, response_timestamp text, response_payload any
SignKey     id int, public_key text, deprecated bool
SignKeys    sign_keys [SignKey]+, total int`

// TestSignedAnswers checks section 11.4 of the fact list: a signed response contains the usual
// response.
func TestSignedAnswers(t *testing.T) {
	all := read(t, every...)
	servicetest.Each(t, servicetest.Options{Now: opening}, func(t *testing.T, s *servicetest.Instance) {
		s.OK(s.Call("POST", "/config", s.ConfigToken, `{"api.sign_responses":"1"}`))
		w := &fixture{Instance: s}
		_, token := w.user(t)
		for _, path := range []string{"/users/me", "/users/me/connections?limit=10", "/connectors/" + testConnector + "?expand=countries,sources"} {
			plain := s.OK(s.Call("GET", path, token, nil))
			address := path + "&sign_response=true"
			if !strings.Contains(path, "?") {
				address = path + "?sign_response=true"
			}
			payload := w.verified(t, all, s.OK(s.Call("GET", address, token, nil)))
			if payload.URL != s.Base+address {
				t.Errorf("the signature is for %s, and %s was called", payload.URL, s.Base+address)
			}
			want := plain.Body
			if strings.Contains(path, "limit") { // the links of a list have the parameters of the call
				want = bytes.ReplaceAll(want, []byte("limit=10"), []byte("limit=10&sign_response=true"))
			}
			if !bytes.Equal(payload.Answer, want) {
				t.Errorf("signed is %s, and the answer is %s", payload.Answer, want)
			}
		}
		for _, fault := range all.fits("SignKeys", "SignKeys", decoded(t, s.OK(s.Call("GET", "/sign-keys", "", nil)).Body)) {
			t.Error(fault)
		}
	})
}

type signedPayload struct {
	URL    string          `json:"request_url"`
	Date   string          `json:"response_timestamp"`
	Answer json.RawMessage `json:"response_payload"`
}

// verified checks a signed response with the key that the response names.
func (w *fixture) verified(t *testing.T, all shapes, a servicetest.Answer) signedPayload {
	t.Helper()
	parts := strings.Split(string(a.Body), ".")
	if len(parts) != 3 {
		t.Fatalf("not a compact JWS: %s", a.Body)
	}
	header, payload, signature := unpadded(t, parts[0]), unpadded(t, parts[1]), unpadded(t, parts[2])
	for kind, part := range map[string][]byte{"SignHeader": header, "SignPayload": payload} {
		for _, fault := range all.fits(kind, kind, decoded(t, part)) {
			t.Error(fault)
		}
	}
	var named struct {
		URL string `json:"key_url"`
	}
	var out signedPayload
	if err := json.Unmarshal(header, &named); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &out); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(w.publicKey(t, all, named.URL), crypto.SHA256, digest[:], signature); err != nil {
		t.Errorf("the signature of %s: %v", parts[1], err)
	}
	return out
}

func unpadded(t *testing.T, part string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (w *fixture) publicKey(t *testing.T, all shapes, address string) *rsa.PublicKey {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a := w.OK(w.Do(request))
	for _, fault := range all.fits("SignKey", "SignKey", decoded(t, a.Body)) {
		t.Error(fault)
	}
	var stored struct {
		PEM string `json:"public_key"`
	}
	w.JSON(a, &stored)
	block, _ := pem.Decode([]byte(stored.PEM))
	if block == nil {
		t.Fatalf("no PEM: %s", a.Body)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public, isRSA := key.(*rsa.PublicKey)
	if !isRSA {
		t.Fatalf("a key of another kind: %T", key)
	}
	return public
}
