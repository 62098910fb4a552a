package api

import (
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/api/banking"
	"passerelle/internal/delivery"
	"passerelle/internal/documents"
	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
	"passerelle/internal/picture"
	"passerelle/internal/programs"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// Service contains the dependencies of the endpoints: the database for reads, and the use cases.
type Service struct {
	DB          *store.DB
	Access      *access.Access
	Initiation  *initiation.Initiation
	Delivery    *delivery.Delivery
	Aggregation *aggregation.Aggregation
	Documents   *documents.Documents
	Simulation  *simulation.Simulation
	Programs    *programs.Programs
	// Wake wakes the sender of webhooks after a call has stored new deliveries.
	Wake func()
	// Scenarios lists the scenarios of the simulated banks.
	Scenarios []wire.Scenario
	// Logins lists the logins that decide how a connection to the test connector behaves.
	Logins []wire.Login
	// Logos holds the operator's own logos. It is nil when the operator has no logos.
	Logos *picture.Logos
	// Now returns the real time. The time of a sandbox can differ.
	Now func() time.Time
}

var (
	config = httpapi.Needs{Kinds: []access.TokenKind{access.ConfigToken}}
	ofUser = httpapi.Needs{Kinds: []access.TokenKind{access.UserToken}}

	seePayments = httpapi.Needs{AnyScope: []passerelle.Scope{
		passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsReadOnly, passerelle.ScopePaymentsValidate,
		passerelle.ScopePaymentsCancel, passerelle.ScopePaymentsSensitive,
	}}
	offered          = httpapi.Needs{Public: true, Guarded: "id_payment", AnyScope: seePayments.AnyScope}
	createPayments   = httpapi.Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin}, Kinds: []access.TokenKind{access.ServiceToken}}
	changePayments   = httpapi.Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsCancel}}
	validatePayments = httpapi.Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsValidate}}
)

// Routes lists the patterns, scopes and functions of the API.
func (s *Service) Routes() []httpapi.Route {
	data := &banking.Service{DB: s.DB, Access: s.Access, Initiation: s.Initiation, Aggregation: s.Aggregation, Documents: s.Documents, Now: s.Now}
	return slices.Concat(s.authRoutes(), s.tokenRoutes(), data.Routes(), s.clientRoutes(), s.paymentRoutes(), s.paymentListRoutes(), s.paymentChangeRoutes(), s.connectorRoutes(), s.logoRoutes(), s.connectorConfigRoutes(), s.programRoutes(), s.termsRoutes(), s.configRoutes(), s.authProviderRoutes(), s.webhookRoutes(), s.webhookAdditionRoutes(), s.webhookDataRoutes(), s.testRoutes(), s.sandboxRoutes(), s.simulationRoutes(), s.sandboxEventRoutes(), s.mailRoutes(), s.signRoutes())
}
