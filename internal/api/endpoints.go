package api

import (
	"net/http"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/delivery"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
)

// Service is what the endpoints call: reads go to the database, everything
// else to the use cases.
type Service struct {
	DB         *store.DB
	Access     *access.Access
	Initiation *initiation.Initiation
	Delivery   *delivery.Delivery
	// Now is real time.
	Now func() time.Time
}

var (
	public = Needs{Public: true}
	config = Needs{Kinds: []access.TokenKind{access.ConfigToken}}

	seePayments = Needs{AnyScope: []passerelle.Scope{
		passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsReadOnly, passerelle.ScopePaymentsValidate,
		passerelle.ScopePaymentsCancel, passerelle.ScopePaymentsSensitive,
	}}
	offered          = Needs{Public: true, Guarded: "id_payment", AnyScope: seePayments.AnyScope}
	createPayments   = Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin}, Kinds: []access.TokenKind{access.ServiceToken}}
	validatePayments = Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsValidate}}
)

// Routes is the whole interface: what answers where, and to whom.
func (s *Service) Routes() []Route {
	return slices.Concat(s.paymentRoutes(), s.connectorRoutes(), s.webhookRoutes(), s.sandboxRoutes())
}

func (s *Service) paymentRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Pattern: "/auth/token", Needs: public, Endpoint: Handle(s.serviceToken),
			Summary: "Get a service token", Errors: []string{"invalidToken"},
			Doc: "Exchanges an application's credentials, in the body or as HTTP Basic, for a token with the scopes asked for, valid for 30 minutes.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments", Needs: seePayments, Endpoint: Handle(s.listPayments),
			Summary: "List payments", Doc: "In the order of their creation unless order_by says otherwise. A token bound to one payment sees that one.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments", Needs: createPayments, Endpoint: Handle(s.createPayment),
			Summary: "Create a payment", Doc: "Registers a payment in state created. A webview, or the next call, validates it with the payer.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}", Needs: seePayments, Endpoint: Handle(s.onePayment),
			Summary: "Read a payment", Doc: "To be read when the payer comes back; webhooks tell of every later change.",
		},
		{
			Method: Update, Pattern: "/payments/{paymentId}", Needs: validatePayments, Endpoint: Handle(s.validatePayment),
			Summary: "Validate a payment", Errors: []string{"conflict"},
			Doc: "Keeps the payer's choice of a connector; with validated the order is sent to the bank, and the answer says what the payer has to do next.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/scopedtoken", Needs: validatePayments, Endpoint: Handle(s.paymentToken),
			Summary: "Get a token for one payment", Doc: "A token that reaches this payment and nothing else, for 7 days: the code that the payment webview is opened with.",
		},
	}
}

func (s *Service) connectorRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Pattern: "/connectors", Needs: offered, Endpoint: Handle(s.listConnectors),
			Summary: "List connectors", Doc: "All banks that payments can be initiated with; hidden ones are marked as such.",
		},
		{
			Method: http.MethodGet, Pattern: "/connectors/{connectorId}", Needs: public, Endpoint: Handle(s.oneConnector),
			Summary: "Read a connector", Doc: "By its uuid, or by its deprecated number.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}/incompatibilities", Needs: seePayments, Endpoint: Handle(s.incompatibilities),
			Summary: "See what speaks against connectors",
			Doc:     "One entry per connector that has a reason; a connector without is compatible. Hidden ones only with all.",
		},
	}
}

func (s *Service) webhookRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: Handle(s.listProviders),
			Summary: "List webhook authentication providers",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: Handle(s.createProvider),
			Summary: "Create a webhook authentication provider", Errors: []string{"conflict"},
			Doc: "The secret key of an HMAC provider is in this answer and never shown again.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks", Needs: config, Endpoint: Handle(s.listWebhooks),
			Summary: "List webhooks",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks", Needs: config, Endpoint: Handle(s.createWebhook),
			Summary: "Register a webhook", Doc: "From now on every event of that name is sent to the URL, signed if a provider is associated.",
		},
		{
			Method: Update, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: Handle(s.updateWebhook),
			Summary: "Change a webhook",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: Handle(s.deleteWebhook),
			Summary: "Delete a webhook", Doc: "What it was still to be sent is given up.",
		},
	}
}

func (s *Service) sandboxRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Pattern: "/sandbox/clock", Needs: config, Endpoint: Handle(s.readClock),
			Summary: "Read the sandbox's clock", Errors: []string{"notFound"},
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/clock", Needs: config, Endpoint: Handle(s.setClock),
			Summary: "Move the sandbox's clock", Errors: []string{"conflict", "notFound"},
			Doc: "One of advance, set and freeze. Answers when everything that fell due has been done.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/run", Needs: config, Endpoint: Handle(s.runSandbox),
			Summary: "Do all that is due", Errors: []string{"notFound"}, Doc: "Answers when nothing is left to do at the sandbox's present instant.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/receiver", Needs: config, Endpoint: Handle(s.received),
			Summary: "See what the built-in receiver got", Errors: []string{"notFound"}, Doc: "The last 1000 requests to /sandbox/receiver/{name}, oldest first, each with the verdict on its signature.",
		},
		{
			Method: http.MethodDelete, Pattern: "/sandbox/receiver", Needs: config, Endpoint: Handle(s.forgetReceived),
			Summary: "Empty the built-in receiver", Errors: []string{"notFound"},
		},
	}
}
