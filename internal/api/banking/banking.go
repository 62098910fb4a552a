// Package banking is the part of the JSON interface that is about end users and
// what institutions have of them: users, connections, accounts, transactions,
// what hangs on them, subscriptions and documents, as rows and functions like those
// of package api, which serves them together with its own.
//
// It owns the names and types of what such requests carry. It does not own the
// conventions that all calls share (package httpapi has them), the connectors
// that there are (package api has those) nor any rule of the business. It fails as
// package api does.
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

// Service is what the endpoints call: reads go to the database, everything else
// to the use cases.
type Service struct {
	DB          *store.DB
	Access      *access.Access
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Documents   *documents.Documents
	// Now is real time.
	Now func() time.Time
}

var (
	ofUser   = httpapi.Needs{Kinds: []access.TokenKind{access.UserToken}}
	allUsers = httpapi.Needs{Kinds: []access.TokenKind{access.UsersToken}}
	oneUser  = httpapi.Needs{Kinds: []access.TokenKind{access.UserToken, access.UsersToken}}
)

// Routes is this part of the interface: what answers where, and to whom.
func (s *Service) Routes() []httpapi.Route {
	return slices.Concat(s.userRoutes(), s.connectionRoutes(), s.connectionSourceRoutes(), s.accountRoutes(), s.accountDetailRoutes(), s.withholdingRoutes(), s.subscriptionRoutes(), s.documentRoutes(), s.documentTypeRoutes(), s.thumbnailRoutes(), s.attachmentRoutes(), s.attachedRoutes(), s.certificateRoutes(), s.transactionRoutes(), s.balanceRoutes(), s.investmentRoutes(), s.categoryRoutes(), s.informationRoutes(), s.identityRoutes(), s.clusterRoutes(), s.webauthRoutes())
}
