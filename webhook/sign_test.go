package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/webhook"
)

var signedAt = time.Date(2026, 11, 20, 9, 15, 4, 123456789, time.UTC)

// The expected signatures were computed with OpenSSL:
//
//	printf '%s' "$text" | openssl dgst -sha256 -hmac "$secret" -binary | base64
func TestSignKnownValues(t *testing.T) {
	for _, test := range []struct {
		name, secret, path string
		date               time.Time
		payload, want      string
	}{
		{
			"usual", "c2VjcmV0LWtleQ==", "/v1/webhook-listener", signedAt,
			`{"id_webhook_data":7}`, "FarE7aX37FkUxCjhlYaXx4D+Jhc/zKbfhckjGuZmccE=",
		},
		{
			"no path, no payload, no fraction", "c2VjcmV0LWtleQ==", "", signedAt.Truncate(time.Second),
			"", "wufvxTK9SJMZqsXwguwlQflbvTVfmPm8VksTgCtcZlY=",
		},
		{
			"escaped path, other zone, not ASCII", "clé", "/a%20b/%C3%A9",
			time.Date(2026, 11, 20, 9, 15, 4, 1999, time.FixedZone("Paris", 3600)),
			`{"label":"é"}`, "/veQFQEh3YiuOQblmwro8gnYZ30kgJ7IjB5Hn+Tq/7w=",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := webhook.Sign(test.secret, test.path, test.date, []byte(test.payload))
			if got.Value != test.want {
				t.Errorf("signature %s, want %s", got.Value, test.want)
			}
		})
	}
}

// hmacByHand implements RFC 2104 independently of the library, to check the signature of any text.
func hmacByHand(secret, text string) string {
	key := []byte(secret)
	if len(key) > 64 {
		hashed := sha256.Sum256(key)
		key = hashed[:]
	}
	inner, outer := [64]byte{}, [64]byte{}
	copy(inner[:], key)
	copy(outer[:], key)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	first := sha256.Sum256(append(inner[:], text...))
	second := sha256.Sum256(append(outer[:], first[:]...))
	return base64.StdEncoding.EncodeToString(second[:])
}

func TestSignIsHMACOfTheSpecifiedText(t *testing.T) {
	for _, secret := range []string{"short", strings.Repeat("longer than a block ", 10)} {
		payload := strings.Repeat(`{"transactions":[]}`, 1000)
		got := webhook.Sign(secret, "/hook", signedAt, []byte(payload))
		want := webhook.Signature{
			Date:  "2026-11-20T09:15:04.123456Z",
			Value: hmacByHand(secret, "POST./hook.2026-11-20T09:15:04.123456Z."+payload),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSignerTakesThePayloadInPieces(t *testing.T) {
	signer := webhook.NewSigner("secret", "/hook", signedAt)
	for _, piece := range []string{`{"a`, ``, `":1`, `}`} {
		if _, err := io.WriteString(signer, piece); err != nil {
			t.Fatal(err)
		}
	}
	want := webhook.Sign("secret", "/hook", signedAt, []byte(`{"a":1}`))
	if diff := cmp.Diff(want, signer.Signature()); diff != "" {
		t.Error(diff)
	}
}

func TestSetRepeatsTheHeadersUnderAliases(t *testing.T) {
	header := http.Header{}
	webhook.Signature{Date: "d", Value: "v"}.Set(header, "BI", "X-Old")
	want := http.Header{
		"Svc-Signature": {"v"}, "Svc-Signature-Date": {"d"},
		"Bi-Signature": {"v"}, "Bi-Signature-Date": {"d"},
		"X-Old-Signature": {"v"}, "X-Old-Signature-Date": {"d"},
	}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Error(diff)
	}
}

func TestSetNextAddsOneHeaderUnderEachPrefix(t *testing.T) {
	header := http.Header{}
	webhook.Signature{Date: "d", Value: "v"}.SetNext(header, "BI")
	want := http.Header{"Svc-Signature-Next": {"v"}, "Bi-Signature-Next": {"v"}}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Error(diff)
	}
}
