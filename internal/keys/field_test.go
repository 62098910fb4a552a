package keys_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"passerelle/internal/keys"
)

var fieldKey = sync.OnceValue(func() *keys.FieldKey {
	key, err := keys.GenerateFieldKey()
	if err != nil {
		panic(err)
	}
	return key
})

// encrypt encrypts like a client, with only the public half of the key.
func encrypt(t *testing.T, public keys.PublicKey, alg jose.KeyAlgorithm, enc jose.ContentEncryption, plain string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]string{
		"kty": public.KeyType, "use": public.Use, "alg": public.Algorithm, "kid": public.ID, "n": public.Modulus, "e": public.Exponent,
	})
	if err != nil {
		t.Fatal(err)
	}
	var key jose.JSONWebKey
	if err := json.Unmarshal(raw, &key); err != nil {
		t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(enc, jose.Recipient{Algorithm: alg, Key: key.Key, KeyID: public.ID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypter.Encrypt([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := sealed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestEncryptedFieldDecrypts(t *testing.T) {
	key := fieldKey()
	for _, enc := range []jose.ContentEncryption{jose.A256GCM, jose.A256CBC_HS512} {
		for _, plain := range []string{"", "1234", strings.Repeat("é", 1000)} {
			value := encrypt(t, key.Public(), jose.RSA_OAEP_256, enc, plain)
			if name, encrypted := keys.Encrypted(value); !encrypted || name != key.ID() {
				t.Errorf("encrypted for %q, %v", name, encrypted)
			}
			if got, err := key.Decrypt(value); err != nil || got != plain {
				t.Errorf("%s: decrypts to %q, %v", enc, got, err)
			}
		}
	}
}

func TestFieldKeySurvivesStorage(t *testing.T) {
	private, err := fieldKey().Private()
	if err != nil {
		t.Fatal(err)
	}
	again, err := keys.ParseFieldKey(private)
	if err != nil || again.ID() != fieldKey().ID() || again.Public() != fieldKey().Public() {
		t.Errorf("key %v, %v", again, err)
	}
	for name, broken := range map[string][]byte{"nothing": nil, "cut": private[:100]} {
		if _, err := keys.ParseFieldKey(broken); err == nil {
			t.Errorf("%s is taken for a key", name)
		}
	}
}

func TestForeignFieldsDoNotDecrypt(t *testing.T) {
	key := fieldKey()
	other, err := keys.GenerateFieldKey()
	if err != nil {
		t.Fatal(err)
	}
	good := encrypt(t, key.Public(), jose.RSA_OAEP_256, jose.A256GCM, "1234")
	for name, value := range map[string]string{
		"another key":       encrypt(t, other.Public(), jose.RSA_OAEP_256, jose.A256GCM, "1234"),
		"another algorithm": encrypt(t, key.Public(), jose.RSA_OAEP, jose.A256GCM, "1234"),
		"another cipher":    encrypt(t, key.Public(), jose.RSA_OAEP_256, jose.A128GCM, "1234"),
		"cut":               good[:len(good)-1],
		"altered":           strings.Replace(good, ".", ".A", 1),
		"plain":             "1234",
		"empty":             "",
		"too long":          good + strings.Repeat("A", keys.MaxEncrypted),
	} {
		if plain, err := key.Decrypt(value); err == nil {
			t.Errorf("%s: decrypts to %q", name, plain)
		}
	}
}

func TestPlainTextIsNotTakenForEncrypted(t *testing.T) {
	for _, value := range []string{"", "1234", "a.b.c.d.e", "....", "eyJhIjoxfQ.b.c.d.e", "W10.b.c.d.e", "192.168.1.1.x", "e30.b.c.d"} {
		if name, encrypted := keys.Encrypted(value); encrypted {
			t.Errorf("%q is encrypted for %q", value, name)
		}
	}
}

func TestPrintingAFieldKeyShowsNoKey(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if printed := fmt.Sprintf(verb, fieldKey()); printed != "keys.FieldKey("+fieldKey().ID()+")" {
			t.Errorf("%s prints %s", verb, printed)
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	f.Add("eyJhbGciOiJSU0EtT0FFUC0yNTYiLCJlbmMiOiJBMjU2R0NNIn0.AA.AA.AA.AA")
	f.Add("....")
	f.Fuzz(func(t *testing.T, value string) {
		if plain, err := fieldKey().Decrypt(value); err == nil {
			t.Errorf("%q decrypts to %q", value, plain)
		}
		keys.Encrypted(value)
	})
}
