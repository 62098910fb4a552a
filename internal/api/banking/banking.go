// Package banking implements the endpoints for end users and their banking data: connections,
// accounts, transactions and their parts, subscriptions and documents. Each endpoint is a row with
// a function, as in package api. Package api also serves these endpoints.
//
// The package owns the names and types in these requests. It does not own the conventions of all
// calls (package httpapi), the list of connectors (package api) or the business rules (the use
// cases).
//
// Its errors follow the same rules as the errors of package api.
package banking

import (
	"slices"
	"time"

	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/documents"
	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
)

// Service contains the dependencies of the endpoints: the database for reads, and the use cases.
type Service struct {
	DB          *store.DB
	Access      *access.Access
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Documents   *documents.Documents
	// Now returns the real time. The time of a sandbox can differ.
	Now func() time.Time
}

var (
	ofUser   = httpapi.Needs{Kinds: []access.TokenKind{access.UserToken}}
	allUsers = httpapi.Needs{Kinds: []access.TokenKind{access.UsersToken}}
	oneUser  = httpapi.Needs{Kinds: []access.TokenKind{access.UserToken, access.UsersToken}}
)

// Routes lists the patterns, scopes and functions of these endpoints.
func (s *Service) Routes() []httpapi.Route {
	return slices.Concat(s.userRoutes(), s.connectionRoutes(), s.connectionSourceRoutes(), s.accountRoutes(), s.accountDetailRoutes(), s.withholdingRoutes(), s.subscriptionRoutes(), s.documentRoutes(), s.documentEditRoutes(), s.documentTypeRoutes(), s.thumbnailRoutes(), s.attachmentRoutes(), s.attachedRoutes(), s.certificateRoutes(), s.transactionRoutes(), s.balanceRoutes(), s.investmentRoutes(), s.categoryRoutes(), s.informationRoutes(), s.identityRoutes(), s.clusterRoutes(), s.webauthRoutes(), s.fileRoutes(), s.statementRoutes())
}
