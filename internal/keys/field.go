package keys

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// fieldKeyBits is the size of the RSA keys for fields.
const fieldKeyBits = 2048

// MaxEncrypted is the largest size of an encrypted value, in bytes. A thousand characters of any
// script need less.
const MaxEncrypted = 16 << 10

// FieldKey is a key pair for values that clients encrypt in the user's browser. An encrypted value
// is a compact JWE with RSA-OAEP-256 and A256GCM or A256CBC-HS512. A FieldKey does not change, and
// is safe for concurrent use.
type FieldKey struct {
	id      string
	private *rsa.PrivateKey
}

// PublicKey is the public half of a pair, as the members of a JSON Web Key. It is for clients.
type PublicKey struct {
	KeyType   string
	Use       string
	Algorithm string
	ID        string
	Modulus   string
	Exponent  string
}

// GenerateFieldKey makes a new pair. It takes a noticeable fraction of a second.
func GenerateFieldKey() (*FieldKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, fieldKeyBits)
	if err != nil {
		return nil, fmt.Errorf("generate a key for fields: %w", err)
	}
	return newFieldKey(private)
}

// newFieldKey names a key by its thumbprint (RFC 7638).
func newFieldKey(private *rsa.PrivateKey) (*FieldKey, error) {
	thumbprint, err := (&jose.JSONWebKey{Key: private.Public()}).Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("name a key for fields: %w", err)
	}
	return &FieldKey{base64.RawURLEncoding.EncodeToString(thumbprint), private}, nil
}

// ParseFieldKey reads the result of [FieldKey.Private].
func ParseFieldKey(private []byte) (*FieldKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(private)
	if err != nil {
		return nil, errors.New("read a key for fields: not a PKCS #8 key")
	}
	pair, isRSA := key.(*rsa.PrivateKey)
	if !isRSA {
		return nil, errors.New("read a key for fields: not an RSA key")
	}
	return newFieldKey(pair)
}

// ID returns the name of the key. Clients send this name with encrypted values.
func (k *FieldKey) ID() string { return k.id }

// Format prints only the name of the key, for every verb. The default format would print the key
// itself.
func (k *FieldKey) Format(state fmt.State, _ rune) { fmt.Fprintf(state, "keys.FieldKey(%s)", k.id) }

// Private returns the pair in PKCS #8. The caller must seal it.
func (k *FieldKey) Private() ([]byte, error) {
	private, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("write a key for fields: %w", err)
	}
	return private, nil
}

// Public returns the public half of the pair, for clients.
func (k *FieldKey) Public() PublicKey {
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	return PublicKey{
		KeyType: "RSA", Use: "enc", Algorithm: string(jose.RSA_OAEP_256), ID: k.id,
		Modulus: number(k.private.N), Exponent: number(big.NewInt(int64(k.private.E))),
	}
}

// errNotForUs is the only error for a value that does not decrypt. A more exact reason would help
// an attacker.
var errNotForUs = errors.New("the value does not decrypt with this key")

// Decrypt reads a value that was encrypted for this key.
func (k *FieldKey) Decrypt(value string) (string, error) {
	if len(value) > MaxEncrypted {
		return "", fmt.Errorf("the encrypted value has more than %d bytes", MaxEncrypted)
	}
	sealed, err := jose.ParseEncryptedCompact(value, []jose.KeyAlgorithm{jose.RSA_OAEP_256}, []jose.ContentEncryption{jose.A256GCM, jose.A256CBC_HS512})
	if err != nil {
		return "", errors.New("the value is not a compact JWE with RSA-OAEP-256, and A256GCM or A256CBC-HS512")
	}
	plain, err := sealed.Decrypt(k.private)
	if err != nil {
		return "", errNotForUs
	}
	return string(plain), nil
}

// Encrypted reports whether a value has the form of a compact JWE, and returns the name of the
// value's key. The name may be empty.
func Encrypted(value string) (string, bool) {
	head, _, _ := strings.Cut(value, ".")
	if strings.Count(value, ".") != 4 || len(value) > MaxEncrypted {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return "", false
	}
	var header struct {
		Encryption string `json:"enc"`
		KeyID      string `json:"kid"`
	}
	if err := json.Unmarshal(raw, &header); err != nil || header.Encryption == "" {
		return "", false
	}
	return header.KeyID, true
}
