package api

import (
	"net/http"
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
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// Service is what the endpoints call: reads go to the database, everything
// else to the use cases.
type Service struct {
	DB          *store.DB
	Access      *access.Access
	Initiation  *initiation.Initiation
	Delivery    *delivery.Delivery
	Aggregation *aggregation.Aggregation
	Documents   *documents.Documents
	Simulation  *simulation.Simulation
	// Wake tells the sender of webhooks that something is due.
	Wake func()
	// Scenarios are what the simulated banks can be made to do.
	Scenarios []wire.Scenario
	// Logins are what steers their connections.
	Logins []wire.Login
	// Now is real time.
	Now func() time.Time
}

const changeDoc = `The body is one of six. Its keys determine which one, and a mix is refused. State and action of the payment determine which body it accepts. Another body is a conflict that names the expected one.

- PaymentValidateRequest, in state created: stores the payer's choice of a connector. With validated, sends the order to the bank, and the answer names the payer's next action.
- PaymentResumeRequest, PaymentSubmitFieldValuesRequest, PaymentSubmitPSUValidationRequest and PaymentConfirmRequest answer the actions decoupled, additionalInformationNeeded, psuValidation and confirm. Confirming needs payments:admin.
- PaymentCancelRequest, before the end: needs payments:admin or payments:cancel, which permits only this. A payment that no bank has is rejected at once. Otherwise the service asks the bank, and state_detail is cancelling while the payer has to approve.`

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

// Routes is the whole interface: what answers where, and to whom.
func (s *Service) Routes() []httpapi.Route {
	data := &banking.Service{DB: s.DB, Access: s.Access, Initiation: s.Initiation, Aggregation: s.Aggregation, Documents: s.Documents, Now: s.Now}
	return slices.Concat(s.authRoutes(), data.Routes(), s.clientRoutes(), s.paymentRoutes(), s.connectorRoutes(), s.logoRoutes(), s.connectorConfigRoutes(), s.termsRoutes(), s.configRoutes(), s.providerRoutes(), s.webhookRoutes(), s.webhookAdditionRoutes(), s.webhookDataRoutes(), s.testRoutes(), s.sandboxRoutes(), s.signRoutes())
}

func (s *Service) paymentRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/payments", Needs: seePayments, Endpoint: httpapi.Handle(s.listPayments),
			Summary: "List payments", Doc: "Ordered by creation unless order_by names another order. A token for one payment lists only that payment.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments", Needs: createPayments, Endpoint: httpapi.Handle(s.createPayment),
			Summary: "Create a payment", Doc: "Registers a payment in state created. A webview, or the next call, validates it with the payer.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}", Needs: seePayments, Endpoint: httpapi.Handle(s.onePayment),
			Summary: "Read a payment", Doc: "Read the payment when the payer returns. Webhooks report every later change.",
		},
		{
			Method: httpapi.Update, Pattern: "/payments/{paymentId}", Needs: changePayments, Endpoint: httpapi.Handle(s.changePayment),
			Summary: "Validate a payment, answer its action, or cancel it", Errors: []string{"conflict", "notSupported", "unavailable"},
			Doc: changeDoc,
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/scopedtoken", Needs: validatePayments, Endpoint: httpapi.Handle(s.paymentToken),
			Summary: "Get a token for one payment", Errors: []string{"conflict"},
			Doc: "Creates a token for this payment only: the code for the payment webview. It is valid for 7 days, or until an hour after the payment is final.",
		},
	}
}

func (s *Service) termsRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/publickey", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.publicKey),
			Summary: "Get the key for field values",
			Doc:     "Returns a JSON Web Key. A page encrypts what the payer types with it, as compact JWE with RSA-OAEP-256 and A256GCM, and the key's kid in the header.",
		},
		{
			Method: http.MethodGet, Pattern: "/terms", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.terms),
			Summary: "Read the terms of service",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/terms", Needs: ofUser, Endpoint: httpapi.Handle(s.userTerms),
			Summary: "Read the terms of service, below a user", Doc: "The answer is the same for all users.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}/terms", Needs: seePayments, Endpoint: httpapi.Handle(s.paymentTerms),
			Summary: "Read the payer's acceptance of the terms", Doc: "Returns the accepted version. With to_sign, returns the version to accept.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/terms", Needs: validatePayments, Endpoint: httpapi.Handle(s.acceptTerms),
			Summary: "Accept the terms for the payer", Errors: []string{"conflict"}, Doc: "Stores the version with the payment. Accept the terms before the validation.",
		},
	}
}

func (s *Service) providerRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.listProviders),
			Summary: "List webhook authentication providers", Doc: "Oldest first.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.createProvider),
			Summary: "Create a webhook authentication provider", Errors: []string{"conflict"},
			Doc: "Returns the secret key of an HMAC provider, which is never shown again. An OAuth provider gets an access token from its token endpoint and sends it with every request.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProviders),
			Summary: "Delete all webhook authentication providers", Doc: "Deletes all providers. Their webhooks keep their events and send nothing until they have another provider.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.oneProvider),
			Summary: "Read a webhook authentication provider", Doc: "Returns a provider without its secrets.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.updateProvider),
			Summary: "Change a webhook authentication provider", Errors: []string{"conflict"}, Doc: "Omitted members keep their values. Access tokens from the earlier configuration are not used any more.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProvider),
			Summary: "Delete a webhook authentication provider", Doc: "Deletes the provider. Its webhooks keep their events and send nothing until they have another provider.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth/{authId}/rotate", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.rotateProvider),
			Summary: "Replace the secret key of an HMAC provider",
			Doc:     "Returns the new secret key, which is never shown again. During the overlap, SVC-Signature uses the old secret and SVC-Signature-Next the new one. Afterwards only the new one signs. A rotation during an overlap replaces the next secret.",
		},
	}
}

func (s *Service) configRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.readConfig),
			Summary: "Read the configuration",
			Doc:     "Returns the value of every key, set or default, as a string. Booleans are 0 and 1. Some keys of this API family are stored without effect. The command passerelle config list names them.",
		},
		{
			Method: http.MethodPost, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.changeConfig),
			Summary: "Change the configuration", Errors: []string{"conflict"},
			Doc: "Sets all of the values or none. Omitted keys keep their values, and null restores a default. Returns the configuration, limited to the keys searched for.",
		},
		{
			Method: http.MethodGet, Pattern: "/config/logs", Needs: config, Endpoint: httpapi.Handle(s.configLogs),
			Summary: "List the changes of the configuration", Doc: "Newest first. The range includes both dates.",
		},
	}
}

func (s *Service) webhookRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks_events", Needs: httpapi.AnyToken, Endpoint: httpapi.Handle(s.webhookEvents),
			Summary: "List the events of webhooks", Doc: "Lists all events for which webhooks can be registered.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.listWebhooks),
			Summary: "List webhooks", Doc: "Oldest first. With all, also disabled and deleted ones.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.createWebhook),
			Summary: "Register a webhook", Errors: []string{"conflict"},
			Doc: "Sends every event of this name to the URL from now on, authenticated by the associated provider.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhooks),
			Summary: "Delete all webhooks", Doc: "Deletes all webhooks, including disabled ones.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.oneWebhook),
			Summary: "Read a webhook", Doc: "A disabled or deleted one needs all.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.updateWebhook),
			Summary: "Change a webhook",
			Doc:     "Omitted members keep their values. Undelivered payloads go to a new URL. A disabled or deleted webhook needs all, or a body that sets disabled or deleted. Once it is enabled again, the service sends its undelivered payloads, except those removed for their age.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhook),
			Summary: "Delete a webhook", Doc: "Deletes the webhook. Undelivered payloads are kept for a while, in case it is restored.",
		},
	}
}

func (s *Service) webhookDataRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/data", Needs: config, Endpoint: httpapi.Handle(s.listWebhookData),
			Summary: "List the payloads of a webhook", Doc: "Newest first. The range includes both dates.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/logs", Needs: config, Endpoint: httpapi.Handle(s.webhookLogs),
			Summary: "List the requests to a webhook", Doc: "Lists each request, newest first. The range includes both dates. Without min_date it is a month.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/data/{dataId}/resend", Needs: config, Endpoint: httpapi.Handle(s.resendWebhookData),
			Summary: "Send a payload again",
			Doc:     "Sends the payload again now, also an accepted one, and answers after the receiver. It is a conflict when the payload was erased, or when the webhook is deleted or disabled.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/recover", Needs: config, Endpoint: httpapi.Handle(s.recoverWebhook),
			Summary: "Retry undelivered payloads", Doc: "Makes everything undelivered since a time due now, oldest first. The answer does not wait for the receiver.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/test", Needs: config, Endpoint: httpapi.Handle(s.testWebhook),
			Summary: "Send a test to a webhook", Doc: "Sends one request with a payload of the webhook's event, authenticated as usual, without retries, and returns the result.",
		},
	}
}

func (s *Service) sandboxRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/sandbox/clock", Needs: config, Endpoint: httpapi.Handle(s.readClock),
			Summary: "Read the sandbox's clock", Errors: []string{"notFound"},
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/clock", Needs: config, Endpoint: httpapi.Handle(s.setClock),
			Summary: "Move the sandbox's clock", Errors: []string{"conflict", "notFound"},
			Doc: "Takes one of advance, set and freeze. Answers when everything that fell due is done.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/run", Needs: config, Endpoint: httpapi.Handle(s.runSandbox),
			Summary: "Do everything that is due", Errors: []string{"notFound"}, Doc: "Does everything that is due at the sandbox's present instant, and answers afterwards.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/payments/{paymentId}/simulate", Needs: config, Endpoint: httpapi.Handle(s.simulate),
			Summary: "Simulate one step of a payment", Errors: []string{"conflict"}, Doc: "Makes one change of the state table, or of one instruction, as if the bank had reported it. A change that the table does not allow is a conflict.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/scenarios", Needs: config, Endpoint: httpapi.Handle(s.listScenarios),
			Summary: "List the scenarios of the simulated banks", Errors: []string{"notFound"},
			Doc: "Lists scenarios for every state, action, error code, incompatibility, execution type and frequency: what to create, the steps, and the result.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/events", Needs: config, MaxBody: maxTrigger, Endpoint: httpapi.Handle(s.triggerEvent),
			Summary: "Emit an event to test a receiver", Errors: []string{"notFound"},
			Doc: "Emits the event with a sample or the given data. It is signed, sent, retried and ordered like any other.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.received),
			Summary: "List the requests to the built-in receiver", Errors: []string{"notFound"}, Doc: "Lists the last 1000 requests to /sandbox/receiver/{name}, oldest first, and whether each signature is valid.",
		},
		{
			Method: http.MethodDelete, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.forgetReceived),
			Summary: "Empty the built-in receiver", Errors: []string{"notFound"},
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/mails", Needs: config, Endpoint: httpapi.Handle(s.listMails),
			Summary: "List the mails about webhooks", Errors: []string{"notFound"},
			Doc: "Lists the mails to the addresses in svc.manager.email, newest first, also without a mail server.",
		},
	}
}
