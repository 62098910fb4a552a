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

// maxCookie is how many bytes of name and value every browser keeps (RFC 6265, section 6.1). A
// longer cookie would be dropped without an error.
const maxCookie = 4096

// ErrNoCookie is the error for a cookie that is missing, was altered, or was sealed with another
// key or under another name.
var ErrNoCookie = errors.New("no such cookie")

// ErrLongCookie is the error for a value that browsers would not store.
var ErrLongCookie = errors.New("the cookie would be too long for browsers")

// Cookie describes a cookie without its value. Scripts can never read it. Unless it is Framed,
// browsers send it from other sites only when a user follows a link.
type Cookie struct {
	Name string
	// Path limits the cookie to addresses below it.
	Path string
	// Strict cookies are not sent from other sites even when a user follows a link.
	Strict bool
	// Framed cookies belong to a page inside a page of another site and are sent only for that
	// page. Browsers keep separate cookies for each such pair of sites.
	Framed bool
	// Secure must be set whenever users reach the service over https.
	Secure bool
	// Life is how long browsers store it. A value that must not be used after that time must
	// contain its own end.
	Life time.Duration
}

// Sealer encrypts the contents of cookies, so that users can neither read nor change nor rename
// them.
type Sealer struct {
	aead cipher.AEAD
}

// NewSealer makes a sealer from a key that has no other use. Replicas with the same key open
// each other's cookies.
func NewSealer(key [32]byte) *Sealer {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // fails only for keys of another size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // fails only for ciphers other than AES
	}
	return &Sealer{aead: aead}
}

// Set seals the value as JSON into a cookie.
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

// Fits reports whether browsers would store a value in a cookie of a name.
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

// Open decrypts a sealed text into value, and reports whether the text was sealed with this key
// under the name.
func (s *Sealer) Open(name, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(name))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// Read opens the cookie of a name into value, or returns ErrNoCookie. When a browser sends
// several cookies with the name, the first that opens counts.
func (s *Sealer) Read(r *http.Request, name string, value any) error {
	for _, cookie := range r.CookiesNamed(name) {
		if s.Open(name, cookie.Value, value) {
			return nil
		}
	}
	return ErrNoCookie
}
