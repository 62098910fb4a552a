package banking

import (
	"context"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) identityRoutes() []httpapi.Route {
	const of = "/connections/{connectionId}"
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + of + "/owner_identity", Needs: ofUser, Endpoint: httpapi.Handle(s.ownerIdentity),
		Aliases: []string{"/users/{userId}" + of + "/informations", of + "/informations", of + "/owner_identity"},
		Summary: "Read the owner of a connection", Doc: "Returns what the institution reports about the holders of the shared accounts. Members that the institution does not report are null.",
	}}
}

func (s *Service) ownerIdentity(ctx context.Context, c *httpapi.Caller, in oneConnectionInput) (wire.OwnerIdentity, error) {
	one, err := s.connection(ctx, c, in)
	if err != nil {
		return wire.OwnerIdentity{}, err
	}
	accounts, err := bankstore.From(s.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: c.Domain.ID, User: one.User, Connection: one.ID}, store.Window{Limit: maxBalanced})
	if err != nil {
		return wire.OwnerIdentity{}, fmt.Errorf("list the accounts of connection %d: %w", one.ID, err)
	}
	out := wire.OwnerIdentity{IDConnection: int64(one.ID), IDUser: int64(one.User)}
	for _, a := range accounts {
		if party, known := holder(a.Parties); known {
			source := int64(a.Source)
			out.FullName, out.IDSource = &party.FullName, &source
			break
		}
	}
	return out, nil
}

// holder returns the party that is the user and has a full name, and whether there is such a party.
func holder(parties []passerelle.Party) (passerelle.Party, bool) {
	for _, p := range parties {
		if p.IsUser != nil && *p.IsUser && p.FullName != "" {
			return p, true
		}
	}
	return passerelle.Party{}, false
}
