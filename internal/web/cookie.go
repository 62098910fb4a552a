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

// maxCookie is how many bytes of name and value every browser stores (RFC 6265, section 6.1). A
// longer cookie could be dropped without an error.
const maxCookie = 4096

// ErrNoCookie is returned for a cookie that is missing, was changed, or was sealed with another key
// or under another name.
var ErrNoCookie = errors.New("no such cookie")

// ErrLongCookie is returned for a value that browsers would not store.
var ErrLongCookie = errors.New("the cookie would be too long for browsers")

// Cookie describes a cookie without its value. Scripts can never read it. Unless it is Framed,
// browsers send it from other sites only when a user follows a link.
type Cookie struct {
	Name string
	// Path limits the cookie to addresses below it.
	Path string
	// Strict is set for a cookie that is not sent from other sites, even when a user follows a
	// link.
	Strict bool
	// Framed is set for a cookie of a page in a frame of another site. It is sent only in such a
	// frame. Browsers keep separate cookies for each such pair of sites.
	Framed bool
	// Secure must be set whenever users reach the service over https.
	Secure bool
	// Life is how long browsers store the cookie. A value that must not be used after that time
	// must contain its own end.
	Life time.Duration
}

// Sealer encrypts the contents of cookies, so that users cannot read, change or rename them.
type Sealer struct {
	aead cipher.AEAD
}

// NewSealer returns a sealer for a key that has no other use. Replicas with the same key can open
// each other's cookies.
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

// Set encodes the value as JSON, seals it and sets it as a cookie.
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

// Forget makes the browser delete a cookie that was set with the same name, path and Framed.
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

func tooLong(name, text string) bool { return len(name)+len(text) > maxCookie }

// Seal encrypts a value under a name, for places other than cookies.
func (s *Sealer) Seal(name string, value any) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode what is sealed as %s: %w", name, err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(name))), nil
}

// Open decrypts a sealed text into value. It returns false when the text was not sealed with this
// key under this name.
func (s *Sealer) Open(name, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(name))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// Read opens the cookie with a name into value, or returns ErrNoCookie. When a browser sends
// several cookies with the name, Read takes the first one that it can open.
func (s *Sealer) Read(r *http.Request, name string, value any) error {
	for _, cookie := range r.CookiesNamed(name) {
		if s.Open(name, cookie.Value, value) {
			return nil
		}
	}
	return ErrNoCookie
}
