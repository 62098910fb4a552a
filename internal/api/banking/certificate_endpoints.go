package banking

import (
	"context"
	"fmt"
	"net/http"

	"passerelle/internal/httpapi"
)

func (s *Service) certificateRoutes() []httpapi.Route {
	const place = "/connections/{connectionId}/account_ownership_certificate"
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + place, Aliases: []string{place}, Needs: ofUser, Endpoint: httpapi.Handle(s.ownerCertificate),
		Errors:  []string{"conflict", "noAccount", "rangeNotSatisfiable"},
		Summary: "Get a certificate of account ownership",
		Doc:     "Creates a PDF with the holders of the connection's enabled payment accounts, the account numbers, and the time of the end user's consent. The service does not store the PDF. Fails with noAccount when no such account is enabled, and with conflict when the setting account_ownership_certificate.enabled is 0.",
	}}
}

func (s *Service) ownerCertificate(ctx context.Context, c *httpapi.Caller, in inConnection) (httpapi.Content, error) {
	user, err := in.theirs(c)
	if err != nil {
		return httpapi.Content{}, err
	}
	page, err := s.Aggregation.Certificate(ctx, c.Domain, user, in.Connection, c.Location)
	if err != nil {
		return httpapi.Content{}, err
	}
	certificate := httpapi.Made("application/pdf", fmt.Sprintf("account-ownership-certificate-%d.pdf", in.Connection), page)
	certificate.Modified = c.Now
	return certificate, nil
}
