package berlingroup

import (
	"crypto/rsa"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// encrypt returns a password as a compact JWE that only the bank can decrypt. The standard
// leaves the format to the bank.
func encrypt(key *rsa.PublicKey, password string) (string, error) {
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("prepare to encrypt a password: %w", err)
	}
	sealed, err := encrypter.Encrypt([]byte(password))
	if err != nil {
		return "", fmt.Errorf("encrypt a password: %w", err)
	}
	return sealed.CompactSerialize()
}
