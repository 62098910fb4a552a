package keys

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Index returns the blind index of a value in an encrypted column. A search for the value in the
// column uses this index. The index has 32 bytes. Equal values have equal indexes within a domain
// and column. Indexes differ between domains and columns, and are useless without the key file. A
// rotation of the master key does not change an index. The argument column is the full name of the
// column, such as "payment.payer_identification".
func (r *Ring) Index(domain int64, column, value string) []byte {
	scope := binary.BigEndian.AppendUint64([]byte(column), uint64(domain))
	return sum(r.derived("index", scope), []byte(value))
}

// MAC returns the authentication code of data for one purpose, such as "cursor" or "return". The
// code has 32 bytes, and is invalid for all other purposes. All replicas with the same key file
// make the same code. The code stays valid after restarts and after rotations of the master key.
// Compare codes in constant time, with hmac.Equal.
func (r *Ring) MAC(purpose string, data []byte) []byte {
	return sum(r.derived("mac", []byte(purpose)), data)
}

// derived returns the key for one scope of one use. The label of the key consists of len(use),
// followed by `use` and `scope`. The length keeps the labels of different uses apart.
func (r *Ring) derived(use string, scope []byte) []byte {
	label := string(append(appendText(nil, use), scope...))
	if known, found := r.scopes.Load(label); found {
		return known.([]byte) //nolint:errcheck // the map stores nothing else
	}
	key, err := hkdf.Expand(sha256.New, r.fixed, label, keySize)
	if err != nil {
		panic(fmt.Sprintf("keys: %v", err)) // this fails only for an output of more than 255 blocks
	}
	r.scopes.Store(label, key)
	return key
}

func sum(key, data []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}
