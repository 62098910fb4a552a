package api

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
)

func (s *Service) termsRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/publickey", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.publicKey),
			Summary: "Get the key to encrypt field values",
			Doc:     "Returns a JSON Web Key. Your page uses it to encrypt what the payer types, as compact JWE with RSA-OAEP-256 and A256GCM. Put the key's kid in the header.",
		},
		{
			Method: http.MethodGet, Pattern: "/terms", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.terms),
			Summary: "Read the terms of service",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/terms", Needs: ofUser, Endpoint: httpapi.Handle(s.userTerms),
			Summary: "Read the terms of service, under a user's path", Doc: "The response is the same for all users.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}/terms", Needs: seePayments, Endpoint: httpapi.Handle(s.paymentTerms),
			Summary: "Read the payer's acceptance of the terms", Doc: "Returns the version that the payer accepted. With to_sign, returns the version to accept.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/terms", Needs: validatePayments, Endpoint: httpapi.Handle(s.acceptTerms),
			Summary: "Accept the terms for the payer", Errors: []string{"conflict"}, Doc: "Records with the payment that the payer accepted this version. Call it before the validation.",
		},
	}
}

type publicKeyOutput struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	ID        string `json:"kid" doc:"key id to put in the header of every encrypted value"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

func (s *Service) publicKey(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (publicKeyOutput, error) {
	key, err := s.Initiation.PublicKey(ctx, c.Domain)
	return publicKeyOutput(key), err
}

// language contains the language parameter of the calls that return terms.
type language struct {
	Language string `query:"language" max:"35" doc:"language such as en or fr; terms that do not exist in the language are returned in English" example:"fr"`
}

type termsVersion struct {
	ID      int64   `json:"id"`
	Version string  `json:"version"`
	Created string  `json:"created" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone"`
	Deleted *string `json:"deleted" doc:"when another version replaced it"`
	IDFile  *int64  `json:"id_file"`
}

func shownTerms(c *httpapi.Caller, t initiation.LocalizedTerms) termsVersion {
	return termsVersion{ID: t.ID, Version: t.Version, Created: passerelle.FormatDateTime(t.Created, c.Location), Deleted: optionalTime(c, t.Deleted)}
}

type termsOutput struct {
	Terms    termsVersion `json:"terms"`
	Content  string       `json:"content"`
	Language string       `json:"language"`
}

func (s *Service) terms(ctx context.Context, c *httpapi.Caller, in language) (termsOutput, error) {
	t, err := s.Initiation.Terms(ctx, c.Domain, in.Language)
	return termsOutput{Terms: shownTerms(c, t), Content: t.Content, Language: t.Language}, err
}

type userTermsInput struct {
	User passerelle.UserID `path:"userId"`
	language
}

func (s *Service) userTerms(ctx context.Context, c *httpapi.Caller, in userTermsInput) (termsOutput, error) {
	if in.User != c.User {
		return termsOutput{}, passerelle.Missing()
	}
	return s.terms(ctx, c, in.language)
}

type paymentTermsOutput struct {
	termsVersion
	ToSign string `json:"to_sign,omitempty" doc:"true while these terms are still to be accepted; absent once they were accepted"`
}

// paymentTerms returns the terms that the payer has accepted. Before the payer accepts terms, it
// returns the current terms.
func (s *Service) paymentTerms(ctx context.Context, c *httpapi.Caller, in onePaymentInput) (paymentTermsOutput, error) {
	p, err := s.reach(ctx, c, in.ID, false)
	if err != nil {
		return paymentTermsOutput{}, err
	}
	accepted, signed, err := s.Initiation.AcceptedTerms(ctx, c.Domain, p, "")
	if err != nil || signed {
		return paymentTermsOutput{termsVersion: shownTerms(c, accepted)}, err
	}
	current, err := s.Initiation.Terms(ctx, c.Domain, "")
	return paymentTermsOutput{termsVersion: shownTerms(c, current), ToSign: "true"}, err
}

type acceptTermsInput struct {
	onePaymentInput
	IDTerms int64 `body:"id_terms,required" min:"1" doc:"id of the terms that the payer was shown"`
}

type acceptTermsOutput struct {
	Success string `json:"success" doc:"always ok"`
}

func (s *Service) acceptTerms(ctx context.Context, c *httpapi.Caller, in acceptTermsInput) (acceptTermsOutput, error) {
	if _, err := s.reach(ctx, c, in.ID, false); err != nil {
		return acceptTermsOutput{}, err
	}
	_, err := s.Initiation.AcceptTerms(ctx, c.Domain, in.ID, in.IDTerms)
	return acceptTermsOutput{Success: "ok"}, err
}
