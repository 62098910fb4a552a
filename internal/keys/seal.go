package keys

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// sealVersion is the first byte of an encrypted value. It distinguishes this form of value from
// later forms.
const sealVersion = 1

// ErrNoMaster reports a value whose master key is not in the ring. Another key file may have it.
var ErrNoMaster = errors.New("the master key is not in the key file")

// wrappedSize is the size of a wrapped data key in bytes: a nonce, the key, and a tag.
const wrappedSize = 12 + keySize + 16

// Place is the location of a sealed value. All four parts are authenticated, so the value opens at
// no other place.
type Place struct {
	Domain int64
	Table  string
	Column string
	Row    int64
}

// String returns the place for errors and logs, such as "table.column row 7 of domain 1".
func (p Place) String() string {
	return fmt.Sprintf("%s.%s row %d of domain %d", p.Table, p.Column, p.Row, p.Domain)
}

// envelope contains the parts of a sealed value:
//
//	version (1 byte), length of id (1 byte), id, wrapped data key, ciphertext
type envelope struct {
	master     master
	wrapped    []byte
	ciphertext []byte
}

// Seal encrypts a value for a place with a new data key. The current master key wraps that data
// key. The result is longer than plain by 90 bytes and the length of the key id.
func (r *Ring) Seal(p Place, plain []byte) ([]byte, error) {
	if p.Table == "" || p.Column == "" || p.Row == 0 {
		return nil, fmt.Errorf("seal %v: a place needs table, column and row", p)
	}
	dataKey := random(keySize)
	return envelope{
		master:     r.current(),
		wrapped:    wrapDataKey(r.current(), p, dataKey),
		ciphertext: newAEAD(dataKey).Seal(nil, nil, plain, p.binding("value")),
	}.bytes(), nil
}

// Open decrypts a value that Seal has sealed for this place. It fails when the value belongs to
// another place or was altered. It fails with ErrNoMaster when the value's master key is not in the
// ring.
func (r *Ring) Open(p Place, sealed []byte) ([]byte, error) {
	e, dataKey, err := r.unwrap(p, sealed)
	if err != nil {
		return nil, fmt.Errorf("open %v: %w", p, err)
	}
	plain, err := newAEAD(dataKey).Open(nil, nil, e.ciphertext, p.binding("value"))
	if err != nil {
		return nil, fmt.Errorf("open %v: the value was altered or belongs elsewhere", p)
	}
	return plain, nil
}

// Rewrap encrypts the data key of a value with the current master key. The operator can then retire
// an older master key. Rewrap changes neither the data key nor the ciphertext. If the current
// master key already encrypts the data key, Rewrap returns the value unchanged.
func (r *Ring) Rewrap(p Place, sealed []byte) ([]byte, error) {
	e, dataKey, err := r.unwrap(p, sealed)
	if err != nil {
		return nil, fmt.Errorf("rewrap %v: %w", p, err)
	}
	if e.master.id == r.current().id {
		return sealed, nil
	}
	e.master = r.current()
	e.wrapped = wrapDataKey(e.master, p, dataKey)
	return e.bytes(), nil
}

func wrapDataKey(m master, p Place, dataKey []byte) []byte {
	return m.wrap.Seal(nil, nil, dataKey, p.binding("key "+m.id))
}

func (r *Ring) unwrap(p Place, sealed []byte) (envelope, []byte, error) {
	e, err := r.parse(sealed)
	if err != nil {
		return envelope{}, nil, err
	}
	dataKey, err := e.master.wrap.Open(nil, nil, e.wrapped, p.binding("key "+e.master.id))
	if err != nil {
		return envelope{}, nil, errors.New("the value was altered, belongs elsewhere or was sealed by another deployment")
	}
	return e, dataKey, nil
}

func (r *Ring) parse(sealed []byte) (envelope, error) {
	if len(sealed) < 2 || sealed[0] != sealVersion {
		return envelope{}, errors.New("not a sealed value of a known version")
	}
	idEnd := 2 + int(sealed[1])
	if len(sealed) < idEnd+wrappedSize {
		return envelope{}, errors.New("the sealed value is cut short")
	}
	id := string(sealed[2:idEnd])
	m, found := r.master(id)
	if !found {
		return envelope{}, fmt.Errorf("%w: %q", ErrNoMaster, id)
	}
	return envelope{m, sealed[idEnd : idEnd+wrappedSize], sealed[idEnd+wrappedSize:]}, nil
}

func (e envelope) bytes() []byte {
	b := make([]byte, 0, 2+len(e.master.id)+len(e.wrapped)+len(e.ciphertext))
	b = append(b, sealVersion, byte(len(e.master.id)))
	b = append(b, e.master.id...)
	b = append(b, e.wrapped...)
	return append(b, e.ciphertext...)
}

// binding returns the associated data for a value at a place, or for the data key of this value.
// The argument `use` distinguishes the two. The associated data contains the length of each text
// before the text, so no two places have the same bytes.
func (p Place) binding(use string) []byte {
	b := []byte{sealVersion}
	for _, text := range []string{use, p.Table, p.Column} {
		b = appendText(b, text)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(p.Domain))
	return binary.BigEndian.AppendUint64(b, uint64(p.Row))
}

func appendText(b []byte, text string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}
