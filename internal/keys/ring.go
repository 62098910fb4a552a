package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
)

// keySize is the size of every key in bytes, for AES-256 and HMAC-SHA256.
const keySize = 32

// Ring is the set of keys of a deployment. Master keys wrap the data keys of encrypted values. The
// current master key encrypts, and all master keys decrypt. Blind indexes and MACs are derived from
// the fixed key. The fixed key is never rotated, because indexes and MACs must stay comparable.
//
// A Ring never changes, and is safe for concurrent use.
type Ring struct {
	masters []master
	fixed   []byte
	// scopes caches derived keys by their labels. Each domain has only a few derived keys.
	scopes sync.Map
}

// master is a key that wraps data keys. Besides the cipher, it contains the secret, so the ring can
// write itself to a file again.
type master struct {
	id     string
	secret []byte
	wrap   cipher.AEAD
}

// Generate makes a ring with one random master key and a random fixed key.
func Generate() *Ring {
	return (&Ring{fixed: random(keySize)}).Rotated()
}

// Rotated returns the ring with a new current master key. The ring still decrypts older values. The
// rotation is complete when the ring is saved and every replica has loaded it.
func (r *Ring) Rotated() *Ring {
	id := hex.EncodeToString(random(4))
	for r.has(id) {
		id = hex.EncodeToString(random(4))
	}
	fresh := newMaster(id, random(keySize))
	return &Ring{masters: append(r.masters[:len(r.masters):len(r.masters)], fresh), fixed: r.fixed}
}

// Retired returns the ring with only its current master key. This ring cannot decrypt values under
// older master keys.
func (r *Ring) Retired() *Ring { return &Ring{masters: []master{r.current()}, fixed: r.fixed} }

// Format prints the number of master keys and the id of the current one, for every verb. The
// default format would print the keys.
func (r *Ring) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "keys.Ring(%d master keys, current %s)", len(r.masters), r.current().id)
}

// MasterKeys returns the ids of the master keys, oldest first. The last id belongs to the current
// key.
func (r *Ring) MasterKeys() []string {
	ids := make([]string, len(r.masters))
	for i, m := range r.masters {
		ids[i] = m.id
	}
	return ids
}

func (r *Ring) current() master { return r.masters[len(r.masters)-1] }

func (r *Ring) has(id string) bool {
	_, found := r.master(id)
	return found
}

func (r *Ring) master(id string) (master, bool) {
	for _, m := range r.masters {
		if m.id == id {
			return m, true
		}
	}
	return master{}, false
}

func newMaster(id string, secret []byte) master {
	return master{id: id, secret: secret, wrap: newAEAD(secret)}
}

// newAEAD returns AES-256-GCM with a random nonce before each ciphertext. It does not fail, because
// every caller passes a key of keySize bytes.
func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("keys: %v", err))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(fmt.Sprintf("keys: %v", err))
	}
	return aead
}

func random(size int) []byte {
	b := make([]byte, size)
	rand.Read(b) // never fails: the runtime would stop the program
	return b
}
