package initiation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/payment"
)

func (w *fixture) encrypted(d passerelle.Domain, plain string) string {
	w.t.Helper()
	public, err := w.PublicKey(w.t.Context(), d)
	must(w.t, err)
	return w.sealedFor(public, public.ID, plain)
}

func (w *fixture) sealedFor(public keys.PublicKey, kid, plain string) string {
	w.t.Helper()
	raw := `{"kty":"` + public.KeyType + `","n":"` + public.Modulus + `","e":"` + public.Exponent + `"}`
	var key jose.JSONWebKey
	must(w.t, key.UnmarshalJSON([]byte(raw)))
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key.Key, KeyID: kid}, nil)
	must(w.t, err)
	sealed, err := encrypter.Encrypt([]byte(plain))
	must(w.t, err)
	compact, err := sealed.CompactSerialize()
	must(w.t, err)
	return compact
}

func TestPublicKeyStays(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		found := make([]keys.PublicKey, 6)
		var calls []func()
		for n := range found {
			i := w.another()
			calls = append(calls, func() { found[n], _ = i.PublicKey(t.Context(), w.domain) })
		}
		together(calls...)
		for _, key := range found {
			if key != found[0] || key.ID == "" || key.Algorithm != "RSA-OAEP-256" || key.Use != "enc" {
				t.Errorf("the key is %+v, want %+v", key, found[0])
			}
		}
		foreign, err := w.PublicKey(t.Context(), other)
		must(t, err)
		if foreign.ID == found[0].ID {
			t.Error("two domains have one key")
		}
	})
}

// TestEncryptedFields checks that a live domain accepts field values in JWE. It accepts plain
// values only if the setting payment.allow_plain_fields is set.
func TestEncryptedFields(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) { p.Sandbox = false })
		live, client := w.createDomain("live", passerelle.Live, shop)
		create := func() passerelle.PaymentID {
			p, err := w.Create(t.Context(), live, initiation.Creation{By: client.ID, Draft: draft(1)})
			must(t, err)
			return p.ID
		}
		chosen := func(value string) initiation.Choice {
			return validated(func(c *initiation.Choice) { c.Fields = map[string]string{"use_case_pay": value} })
		}
		id, useCase := create(), w.encrypted(live, "otp_sms")
		rows := w.rows()
		_, err := w.Validate(t.Context(), live, id, chosen("otp_sms"))
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields", "plain text")
		p, err := w.Validate(t.Context(), live, id, chosen(useCase))
		must(t, err)
		if p.Action != payment.FillFields {
			t.Fatalf("the action is %q", p.Action)
		}
		p, err = w.Answer(t.Context(), live, id, payment.ByPayer, code(w.encrypted(live, "1234")))
		must(t, err)
		if p.State != payment.Done {
			t.Errorf("the payment is %s with %q", p.State, p.ErrorCode)
		}
		must(t, settings.Set(t.Context(), w.db, live.ID, map[string]string{settings.PlainFields: "1"}, noon))
		_, err = w.Validate(t.Context(), live, create(), chosen("redirect"))
		must(t, err)
	})
}

// TestBadEncryption checks that encrypted values are refused if they cannot be decrypted or are
// invalid. The error must not contain the decrypted value.
func TestBadEncryption(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		public, err := w.PublicKey(t.Context(), w.domain)
		must(t, err)
		foreign, err := w.PublicKey(t.Context(), other)
		must(t, err)
		good := w.encrypted(w.domain, "redirect")
		id := w.create(1)
		rows := w.rows()
		for name, value := range map[string]string{
			"another domain's":    w.encrypted(other, "redirect"),
			"no kid":              w.sealedFor(public, "", "redirect"),
			"another key":         w.sealedFor(foreign, public.ID, "redirect"),
			"cut":                 good[:len(good)-4],
			"not a known choice":  w.encrypted(w.domain, "pigeon"),
			"longer than a field": w.encrypted(w.domain, strings.Repeat("x", 1001)),
		} {
			t.Run(name, func(t *testing.T) {
				_, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) {
					c.Fields = map[string]string{"use_case_pay": value}
				}))
				w.wantRefusal(t, err, rows, passerelle.Invalid, "fields.use_case_pay")
				if err != nil && strings.Contains(err.Error(), "pigeon") {
					t.Errorf("the error repeats the value: %v", err)
				}
			})
		}
	})
}

// TestTooManyEncryptedFields sends more values than a payment can have. The service must refuse
// them before it decrypts one.
func TestTooManyEncryptedFields(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		foreign, values := w.encrypted(other, "1234"), map[string]string{}
		for n := range 101 {
			values[fmt.Sprint("field ", n)] = foreign
		}
		id, p := w.create(1), w.steered("actn(otp)/done")
		rows := w.rows()
		_, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) { c.Fields = values }))
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields", "100")
		_, err = w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, initiation.ActionAnswer{Action: payment.FillFields, Fields: values})
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields", "100")
	})
}

// TestLongWebsites checks that the limit of 255 characters for the website applies to validations
// only. A bank may offer a longer choice in a field of the same name.
func TestLongWebsites(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		values := map[string]string{"website": strings.Repeat("w", 256)}
		id := w.create(1)
		rows := w.rows()
		_, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) { c.Fields = values }))
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields.website")
		w.line.breaks(answers(payment.Report{Status: payment.Awaiting, Action: payment.FillFields, Fields: []payment.Field{
			{Name: "website", Type: "list", Required: true, Values: []payment.FieldValue{{Label: "Long", Value: values["website"]}}},
		}}), nil)
		_, err = w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.line.interrupts(answers(payment.Report{Status: payment.Processing}), nil)
		p, err := w.Answer(t.Context(), w.domain, id, payment.ByPayer, initiation.ActionAnswer{Action: payment.FillFields, Fields: values})
		must(t, err)
		if p.State != payment.Pending {
			t.Errorf("the payment is %s", p.State)
		}
	})
}

// TestHostilePatterns checks that a validation succeeds despite slow and invalid patterns of
// fields.
func TestHostilePatterns(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) {
			p.PaymentFields = []payment.Field{
				{Name: "slow", Type: "text", Label: "Slow", Regex: `^(?=(a+)+$)(a+)+b$`},
				{Name: "broken", Type: "text", Label: "Broken", Regex: `^(?=`},
				{Name: "website", Type: "text", Label: "Site"},
			}
		})
		id := w.create(1)
		p, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) {
			c.Fields = map[string]string{"slow": strings.Repeat("a", 999) + "!", "broken": "anything", "website": "shop.test"}
		}))
		must(t, err)
		if p.Website != "shop.test" {
			t.Errorf("the website is %q", p.Website)
		}
	})
}
