package keys

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Index is the blind index of a value of an encrypted column: 32 bytes, the
// same for the same value, different between domains and columns, and of no
// use without the key file. It lets an encrypted column be searched for
// equality. Column is the column's full name, as "payments.payer_iban". It
// does not change when the master key rotates.
func (r *Ring) Index(domain int64, column, value string) []byte {
	scope := binary.BigEndian.AppendUint64([]byte(column), uint64(domain))
	return sum(r.derived("index", scope), []byte(value))
}

// MAC authenticates data for one purpose, such as "cursor" or "return": 32 bytes that are
// invalid for every other purpose. All replicas with the same key file make the same, and it
// outlives restarts and rotations of the master key.
func (r *Ring) MAC(purpose string, data []byte) []byte {
	return sum(r.derived("mac", []byte(purpose)), data)
}

// Authentic reports, in constant time, whether mac is the MAC of the data for the purpose.
func (r *Ring) Authentic(purpose string, data, mac []byte) bool {
	return hmac.Equal(r.MAC(purpose, data), mac)
}

// derived returns the key for one scope of one use. The use begins with its length, so that
// scopes of different uses never collide.
func (r *Ring) derived(use string, scope []byte) []byte {
	label := string(append(appendText(nil, use), scope...))
	if known, found := r.scopes.Load(label); found {
		return known.([]byte) //nolint:errcheck // the map stores nothing else
	}
	key, err := hkdf.Expand(sha256.New, r.fixed, label, keySize)
	if err != nil {
		panic(fmt.Sprintf("keys: %v", err)) // fails only for output beyond 255 blocks
	}
	r.scopes.Store(label, key)
	return key
}

func sum(key, data []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}
