package web

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// MaxCookie is the number of bytes in a name and value that every browser can store (RFC 6265,
// section 6.1). A browser may drop a longer cookie without an error.
const MaxCookie = 4096

// ErrNoCookie means that a cookie is missing, was changed, or was sealed with a different key or
// under a different name.
var ErrNoCookie = errors.New("no such cookie")

// ErrLongCookie means that browsers would not store a value.
var ErrLongCookie = errors.New("the cookie would be too long for browsers")

// Cookie describes a cookie without its value. Scripts can never read the cookie. From other sites,
// browsers send the cookie only when a user follows a link, unless Strict or Framed is set.
type Cookie struct {
	Name string
	// Path limits the cookie to addresses below it.
	Path string
	// Strict is set for a cookie that browsers never send from other sites, not even when a user
	// follows a link.
	Strict bool
	// Framed is set for a cookie of a page in a frame of another site. Browsers send the cookie
	// only in such a frame. They store separate cookies for each pair of sites.
	Framed bool
	// Secure must be set if users reach the service over https.
	Secure bool
	// Life is the time for which browsers store the cookie. A value that must not be used after
	// this time must contain its own expiry.
	Life time.Duration
}

// Sealer encrypts the contents of cookies. Users can therefore not read, change or rename these
// cookies.
type Sealer struct {
	aead cipher.AEAD
}

// NewSealer returns a sealer for a key that has no other use. Replicas that have the same key can
// open each other's cookies.
func NewSealer(key [32]byte) *Sealer {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // cannot happen with a key of this size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // cannot happen with AES
	}
	return &Sealer{aead: aead}
}

// Set encodes the value as JSON, seals the result, and sets the cookie.
func (s *Sealer) Set(w http.ResponseWriter, c Cookie, value any) error {
	text, err := s.Seal(c.Name, value)
	if err != nil {
		return err
	}
	if tooLong(c.Name, text) {
		return ErrLongCookie
	}
	c.send(w, text, int(c.Life.Seconds()))
	return nil
}

// Forget makes the browser delete the cookie that has the same name, path and Framed.
func (c Cookie) Forget(w http.ResponseWriter) { c.send(w, "", -1) }

func (c Cookie) send(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: c.Name, Value: value, Path: c.Path, MaxAge: maxAge,
		Secure: c.Secure || c.Framed, HttpOnly: true, SameSite: c.sameSite(), Partitioned: c.Framed,
	})
}

func (c Cookie) sameSite() http.SameSite {
	switch {
	case c.Framed:
		return http.SameSiteNoneMode
	case c.Strict:
		return http.SameSiteStrictMode
	}
	return http.SameSiteLaxMode
}

// Fits reports whether browsers would store a value in a cookie with this name.
func (s *Sealer) Fits(name string, value any) (bool, error) {
	text, err := s.Seal(name, value)
	return err == nil && !tooLong(name, text), err
}

func tooLong(name, text string) bool { return len(name)+len(text) > MaxCookie }

// Seal encrypts a value under a name. It is also for texts outside of cookies.
func (s *Sealer) Seal(name string, value any) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode the cookie %s: %w", name, err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(name))), nil
}

// Open decrypts a sealed text into value. It returns false for a text that was not sealed with this
// key and this name.
func (s *Sealer) Open(name, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(name))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// Read opens the cookie with a name into value, or returns ErrNoCookie. When a browser sends
// several cookies with this name, Read uses the first one that it can open.
func (s *Sealer) Read(r *http.Request, name string, value any) error {
	for _, cookie := range r.CookiesNamed(name) {
		if s.Open(name, cookie.Value, value) {
			return nil
		}
	}
	return ErrNoCookie
}
