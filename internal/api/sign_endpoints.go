package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-jose/go-jose/v4"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func (s *Service) signRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/sign-keys", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.signKeys),
			Summary: "List the keys that sign responses", Doc: "Lists keys, newest first. The first key signs new responses. Signatures by deprecated keys stay valid.",
		},
		{
			Method: http.MethodGet, Pattern: "/sign-keys/{keyId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneSignKey),
			Summary: "Read a key that signs responses", Doc: "Returns a key. The header of a signed response contains its address as key_url.",
		},
		{
			Method: http.MethodGet, Pattern: "/certificate/{type}", Needs: config, Endpoint: httpapi.Handle(s.certificate),
			Summary: "Read a certificate of the service", Doc: "For the type signature, returns the key that signs responses, once it exists. Other types are not part of the API.",
		},
	}
}

type certificateInput struct {
	Type string `path:"type" doc:"signature"`
}

// certificateOutput has null for the ids of files. It contains the public key itself, and never the
// private key.
type certificateOutput struct {
	ID          int64  `json:"id"`
	Type        string `json:"type"`
	PublicFile  *int64 `json:"id_public_key_file" doc:"null, see public_key"`
	PrivateFile *int64 `json:"id_private_key_file" doc:"null: the private key is never shown"`
	PublicKey   string `json:"public_key" doc:"PEM"`
	Created     string `json:"created"`
}

const signatureCertificate = "signature"

func (s *Service) certificate(ctx context.Context, c *httpapi.Caller, in certificateInput) (certificateOutput, error) {
	if in.Type != signatureCertificate {
		return certificateOutput{}, passerelle.Missing()
	}
	newest, err := s.DB.SignKeys(ctx, c.Domain.ID, 1)
	if err != nil {
		return certificateOutput{}, fmt.Errorf("load the newest key for responses: %w", err)
	}
	if len(newest) == 0 {
		return certificateOutput{}, passerelle.Missing()
	}
	key := newest[0]
	return certificateOutput{ID: key.ID, Type: in.Type, PublicKey: key.Public, Created: passerelle.FormatDateTime(key.Created, c.Location)}, nil
}

type signKey struct {
	ID         int64  `json:"id"`
	PublicKey  string `json:"public_key" doc:"PEM, to verify RS256 signatures"`
	Deprecated bool   `json:"deprecated" doc:"whether another key signs now"`
}

func shownSignKey(k store.SignKey) signKey { return signKey{k.ID, k.Public, k.Deprecated} }

type signKeysOutput struct {
	Keys  []signKey `json:"sign_keys"`
	Total int       `json:"total"`
}

// maxSignKeys is the largest number of keys in the list. It suffices for a new key each day for
// over two years.
const maxSignKeys = 1000

func (s *Service) signKeys(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (signKeysOutput, error) {
	stored, err := s.DB.SignKeys(ctx, c.Domain.ID, maxSignKeys)
	if err != nil {
		return signKeysOutput{}, fmt.Errorf("list the keys for responses: %w", err)
	}
	out := signKeysOutput{Keys: make([]signKey, len(stored)), Total: len(stored)}
	for i, k := range stored {
		out.Keys[i] = shownSignKey(k)
	}
	return out, nil
}

type oneSignKeyInput struct {
	ID int64 `path:"keyId"`
}

func (s *Service) oneSignKey(ctx context.Context, c *httpapi.Caller, in oneSignKeyInput) (signKey, error) {
	stored, err := s.DB.SignKey(ctx, c.Domain.ID, in.ID)
	if errors.Is(err, store.ErrNotFound) {
		return signKey{}, passerelle.Missing()
	}
	if err != nil {
		return signKey{}, fmt.Errorf("load a key for responses: %w", err)
	}
	return shownSignKey(stored), nil
}

// Signature returns a function that signs API responses with the newest key of the caller's domain.
// The header of the signature contains the key's address, below the base address of the call.
// Signature fails when the domain does not sign its responses.
func (s *Service) Signature(ctx context.Context, c *httpapi.Caller) (httpapi.SignFunc, error) {
	if !c.Settings.On(settings.SignedAnswers) {
		return nil, passerelle.InvalidField("sign_response", "this domain does not sign responses; to enable that, set the configuration key %s to 1", settings.SignedAnswers)
	}
	id, key, err := s.Access.AnswerKey(ctx, c.Domain.ID)
	if err != nil {
		return nil, err
	}
	options := (&jose.SignerOptions{}).WithHeader("key_url", fmt.Sprintf("%s/sign-keys/%d", c.Base, id))
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		return nil, fmt.Errorf("sign responses of domain %d: %w", c.Domain.ID, err)
	}
	return func(payload []byte) (string, error) {
		object, err := signer.Sign(payload)
		if err != nil {
			return "", fmt.Errorf("sign an answer: %w", err)
		}
		return object.CompactSerialize()
	}, nil
}
