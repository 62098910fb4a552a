package bankdata

import (
	"context"
	"fmt"
	"net/http"

	"passerelle/internal/protocol"
)

func (s *Service) certificateRoutes() []protocol.Route {
	const place = "/connections/{connectionId}/account_ownership_certificate"
	return []protocol.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + place, Aliases: []string{place}, Needs: ofUser, Endpoint: protocol.Handle(s.ownerCertificate),
		Errors:  []string{"conflict", "noAccount", "rangeNotSatisfiable"},
		Summary: "Get a certificate of account ownership",
		Doc:     "A PDF made now: the holders of the enabled payment accounts of the connection, their numbers, and when the end user agreed to share them. It is not kept. A conflict when no such account is enabled, code noAccount, and where the configuration key account_ownership_certificate.enabled is 0.",
	}}
}

func (s *Service) ownerCertificate(ctx context.Context, c *protocol.Caller, in inConnection) (protocol.Content, error) {
	user, err := in.theirs(c)
	if err != nil {
		return protocol.Content{}, err
	}
	page, err := s.Aggregation.Certificate(ctx, c.Domain, user, in.Connection, c.Location)
	if err != nil {
		return protocol.Content{}, err
	}
	certificate := protocol.Made("application/pdf", fmt.Sprintf("account-ownership-certificate-%d.pdf", in.Connection), page)
	certificate.Modified = c.Now
	return certificate, nil
}
