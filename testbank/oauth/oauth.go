// Package oauth implements the part of one bank's authorisation server that third parties call: its
// metadata (RFC 8414) and its tokens (RFC 6749, 7636 and 8705).
//
// It owns the form of these calls. It does not decide who gets a token: package bank does. The page
// on which a customer approves is in package page. A wrong call fails with an error of RFC 6749,
// section 5.2.
package oauth

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// maxForm limits the size of a form. Every form is much smaller.
const maxForm = 16 << 10

// Server is the authorisation server of one bank.
type Server struct {
	Bank *bank.Bank
	// Issuer is the bank's address. Pages is the address of its pages.
	Issuer, Pages string
	Authorities   *x509.CertPool
	Clock         func() time.Time
	Log           *slog.Logger
}

// Metadata responds with the metadata of the server.
func (s *Server) Metadata(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{
		"issuer":                                     s.Issuer,
		"authorization_endpoint":                     s.Pages + "/authorize",
		"token_endpoint":                             s.Issuer + "/oauth/token",
		"response_types_supported":                   []string{"code"},
		"grant_types_supported":                      []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":           []string{"S256"},
		"token_endpoint_auth_methods_supported":      []string{"tls_client_auth"},
		"tls_client_certificate_bound_access_tokens": true,
	})
}

// Token handles requests to the token endpoint. The form must name the same client as the
// certificate of the connection (RFC 8705, section 2.1).
func (s *Server) Token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, bank.InvalidRequest)
		return
	}
	party, err := s.client(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	access, refresh, err := s.exchange(r, party)
	if err != nil {
		s.fail(w, err)
		return
	}
	write(w, http.StatusOK, map[string]any{
		"access_token": access.ID, "token_type": "Bearer", "expires_in": int(access.Ends.Sub(s.Bank.Now()).Seconds()),
		"refresh_token": refresh.ID, "scope": access.Scope,
	})
}

func (s *Server) client(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", bank.InvalidClient
	}
	certificate := r.TLS.PeerCertificates[0]
	if eidas.Judge(certificate, eidas.Web, s.Authorities, s.Clock()) != nil || r.PostForm.Get("client_id") != eidas.Organization(certificate) {
		return "", bank.InvalidClient
	}
	return eidas.Organization(certificate), nil
}

func (s *Server) exchange(r *http.Request, party string) (*bank.Token, *bank.Token, error) {
	form := r.PostForm
	switch form.Get("grant_type") {
	case "authorization_code":
		return s.Bank.Exchange(r.Context(), party, form.Get("code"), form.Get("redirect_uri"), form.Get("code_verifier"))
	case "refresh_token":
		return s.Bank.Refresh(r.Context(), party, form.Get("refresh_token"))
	}
	return nil, nil, bank.UnsupportedGrantType
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	var known bank.OAuthError
	switch {
	case !errors.As(err, &known):
		s.Log.Error("the bank failed", slog.Any("error", err))
		write(w, http.StatusInternalServerError, map[string]any{"error": "server_error"})
	case known == bank.InvalidClient:
		write(w, http.StatusUnauthorized, map[string]any{"error": known})
	default:
		write(w, http.StatusBadRequest, map[string]any{"error": known})
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.Encode(body) //nolint:errcheck // the client may be gone
}
