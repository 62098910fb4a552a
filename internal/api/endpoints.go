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

const changeDoc = `The body is one of six; its keys tell which, and keys of two are refused. What a payment takes follows from its state and action; another body is a conflict that says what is expected.

- PaymentValidateRequest, in state created: keeps the payer's choice of a connector; with validated the order is sent to the bank, and the answer says what the payer has to do next.
- PaymentResumeRequest, PaymentSubmitFieldValuesRequest, PaymentSubmitPSUValidationRequest and PaymentConfirmRequest answer the actions decoupled, additionalInformationNeeded, psuValidation and confirm. Confirming needs payments:admin.
- PaymentCancelRequest, before the end: needs payments:admin or payments:cancel, which is good for nothing else here. A payment that no bank has is rejected at once; otherwise the bank is asked, and state_detail is cancelling while the payer has to approve.`

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
			Summary: "List payments", Doc: "In the order of their creation unless order_by says otherwise. A token bound to one payment sees that one.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments", Needs: createPayments, Endpoint: httpapi.Handle(s.createPayment),
			Summary: "Create a payment", Doc: "Registers a payment in state created. A webview, or the next call, validates it with the payer.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}", Needs: seePayments, Endpoint: httpapi.Handle(s.onePayment),
			Summary: "Read a payment", Doc: "To be read when the payer comes back; webhooks tell of every later change.",
		},
		{
			Method: httpapi.Update, Pattern: "/payments/{paymentId}", Needs: changePayments, Endpoint: httpapi.Handle(s.changePayment),
			Summary: "Validate a payment, answer its action or cancel it", Errors: []string{"conflict", "notSupported", "unavailable"},
			Doc: changeDoc,
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/scopedtoken", Needs: validatePayments, Endpoint: httpapi.Handle(s.paymentToken),
			Summary: "Get a token for one payment", Errors: []string{"conflict"},
			Doc: "A token that reaches this payment and nothing else, for 7 days, or until an hour after the payment is final: the code that the payment webview is opened with.",
		},
	}
}

func (s *Service) termsRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/publickey", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.publicKey),
			Summary: "Get the key for field values",
			Doc:     "A JSON Web Key with which a page encrypts what the payer types, as compact JWE with RSA-OAEP-256 and A256GCM and the key's kid in the header, so that nobody on the way reads it.",
		},
		{
			Method: http.MethodGet, Pattern: "/terms", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.terms),
			Summary: "Read the terms of service",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/terms", Needs: ofUser, Endpoint: httpapi.Handle(s.userTerms),
			Summary: "Read the terms of service, under a user", Doc: "The same for all users.",
		},
		{
			Method: http.MethodGet, Pattern: "/payments/{paymentId}/terms", Needs: seePayments, Endpoint: httpapi.Handle(s.paymentTerms),
			Summary: "See whether the payer accepted the terms", Doc: "The version that was accepted; or, with to_sign, the one that is to be.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/terms", Needs: validatePayments, Endpoint: httpapi.Handle(s.acceptTerms),
			Summary: "Accept the terms for the payer", Errors: []string{"conflict"}, Doc: "The version is kept with the payment. Terms are accepted before the payment is validated.",
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
			Doc: "The secret key of an HMAC provider is in this answer and never shown again. An OAuth provider gets an access token from its token endpoint, which goes with every request.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProviders),
			Summary: "Delete all webhook authentication providers", Doc: "Webhooks that have one of them send nothing until they have another: what happens meanwhile is kept for them.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.oneProvider),
			Summary: "Read a webhook authentication provider", Doc: "Without its secrets.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.updateProvider),
			Summary: "Change a webhook authentication provider", Errors: []string{"conflict"}, Doc: "What is left out stays as it is. Access tokens that the former configuration led to are not used any more.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProvider),
			Summary: "Delete a webhook authentication provider", Doc: "Webhooks that have it send nothing until they have another: what happens meanwhile is kept for them.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth/{authId}/rotate", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.rotateProvider),
			Summary: "Replace the secret key of an HMAC provider",
			Doc:     "The new secret key is in this answer and never shown again. While the two overlap, requests are signed by the old one in SVC-Signature and by the new one in SVC-Signature-Next; afterwards by the new one alone. Rotating during an overlap replaces the next one.",
		},
	}
}

func (s *Service) configRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.readConfig),
			Summary: "Read the configuration",
			Doc:     "The value of every key, given or default, as a string; booleans are 0 and 1. Keys of programs of this API family that have no effect here are kept all the same; the command passerelle config list says which.",
		},
		{
			Method: http.MethodPost, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.changeConfig),
			Summary: "Change the configuration", Errors: []string{"conflict"},
			Doc: "All of the values or none. Keys that are left out keep theirs; null returns a key to its default. Answers with the configuration, of the keys searched for.",
		},
		{
			Method: http.MethodGet, Pattern: "/config/logs", Needs: config, Endpoint: httpapi.Handle(s.configLogs),
			Summary: "See who changed the configuration", Doc: "Newest first. Both dates belong to the range.",
		},
	}
}

func (s *Service) webhookRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks_events", Needs: httpapi.AnyToken, Endpoint: httpapi.Handle(s.webhookEvents),
			Summary: "List the events of webhooks", Doc: "All that a webhook can be registered for.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.listWebhooks),
			Summary: "List webhooks", Doc: "Oldest first; with all, also those that are disabled or deleted.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.createWebhook),
			Summary: "Register a webhook", Errors: []string{"conflict"},
			Doc: "From now on every event of that name is sent to the URL, authenticated by the provider that is associated.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhooks),
			Summary: "Delete all webhooks", Doc: "Those that are disabled, too.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.oneWebhook),
			Summary: "Read a webhook", Doc: "One that is disabled or deleted only with all.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.updateWebhook),
			Summary: "Change a webhook",
			Doc:     "What is left out stays as it is; what is undelivered goes to a new URL. One that is disabled or deleted is changed with all, or by a body that says whether it is to be so. What a webhook was not sent while it was disabled or deleted is sent once it is neither, unless it was removed meanwhile for its age.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhook),
			Summary: "Delete a webhook", Doc: "Nothing is sent to it any more. What is undelivered is kept for a while, in case it is made live again.",
		},
	}
}

func (s *Service) webhookDataRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/data", Needs: config, Endpoint: httpapi.Handle(s.listWebhookData),
			Summary: "See what a webhook was and is to be sent", Doc: "Newest first. Both dates belong to the range.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/logs", Needs: config, Endpoint: httpapi.Handle(s.webhookLogs),
			Summary: "See the requests to a webhook", Doc: "One item for each request, newest first. Both dates belong to the range; without min_date it is a month.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/data/{dataId}/resend", Needs: config, Endpoint: httpapi.Handle(s.resendWebhookData),
			Summary: "Send something again",
			Doc:     "Now, whatever became of it before, also when it was accepted; answers when the receiver has. A conflict when its payload was erased, and when the webhook is deleted or disabled.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/recover", Needs: config, Endpoint: httpapi.Handle(s.recoverWebhook),
			Summary: "Try again what is undelivered", Doc: "Everything undelivered that happened since an instant is due now, the oldest first. The answer does not wait for the receiver.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/test", Needs: config, Endpoint: httpapi.Handle(s.testWebhook),
			Summary: "Send a test", Doc: "One request with a payload of the webhook's event, authenticated as all are, which is never tried again; answers with what came of it.",
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
			Doc: "One of advance, set and freeze. Answers when everything that fell due has been done.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/run", Needs: config, Endpoint: httpapi.Handle(s.runSandbox),
			Summary: "Do all that is due", Errors: []string{"notFound"}, Doc: "Answers when nothing is left to do at the sandbox's present instant.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/payments/{paymentId}/simulate", Needs: config, Endpoint: httpapi.Handle(s.simulate),
			Summary: "Take a payment one step on", Errors: []string{"conflict"}, Doc: "One change of the state table, or of one instruction, as if the bank had reported it. One that the table does not have is a conflict.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/scenarios", Needs: config, Endpoint: httpapi.Handle(s.listScenarios),
			Summary: "See what the simulated banks can do", Errors: []string{"notFound"},
			Doc: "Every state, action, error code, incompatibility, type of execution and frequency is in one scenario at least: what to create, what to do then, what becomes of it.",
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/events", Needs: config, MaxBody: maxTrigger, Endpoint: httpapi.Handle(s.triggerEvent),
			Summary: "Emit an event to try a receiver out", Errors: []string{"notFound"},
			Doc: "Emits the event with a sample, or with the data given, as if it had happened: it is signed, sent, retried and kept in order like any other.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.received),
			Summary: "See what the built-in receiver got", Errors: []string{"notFound"}, Doc: "The last 1000 requests to /sandbox/receiver/{name}, oldest first, each with the verdict on its signature.",
		},
		{
			Method: http.MethodDelete, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.forgetReceived),
			Summary: "Empty the built-in receiver", Errors: []string{"notFound"},
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/mails", Needs: config, Endpoint: httpapi.Handle(s.listMails),
			Summary: "See the mails of alarm about webhooks", Errors: []string{"notFound"},
			Doc: "Newest first: what was written to the addresses of svc.manager.email, whether or not there is a mail server.",
		},
	}
}
