package xs2a

import (
	"net/http"

	"passerelle/testbank/bank"
)

// authorisationBody is the state of an authorisation in a response.
type authorisationBody struct {
	Status    string     `json:"scaStatus"`
	ID        string     `json:"authorisationId,omitempty"`
	Methods   []method   `json:"scaMethods,omitempty"`
	Chosen    *method    `json:"chosenScaMethod,omitempty"`
	Challenge *challenge `json:"challengeData,omitempty"`
	Links     links      `json:"_links,omitempty"`
	Message   string     `json:"psuMessage,omitempty"`
}

type method struct {
	Type        string `json:"authenticationType"`
	ID          string `json:"authenticationMethodId"`
	Name        string `json:"name"`
	Explanation string `json:"explanation"`
}

func methodOf(m bank.Method) method { return method{m.Type, m.ID, m.Name, m.Explanation} }

// These are the messages to the customer.
const (
	appMessage    = "Please approve in the app of Example Bank."
	failedMessage = "The approval failed."
)

func (a *API) authorisationBody(auth *bank.Authorisation) authorisationBody {
	body := authorisationBody{Status: auth.Status, Links: a.next(auth)}
	switch {
	case auth.Status == "failed":
		body.Message = failedMessage
	case auth.Approach == bank.Decoupled && auth.Open():
		body.Message = appMessage
	case auth.Approach == bank.Embedded && auth.Status == "psuAuthenticated":
		for _, m := range bank.Methods() {
			body.Methods = append(body.Methods, methodOf(m))
		}
	case auth.Approach == bank.Embedded && auth.Open() && auth.Method != "":
		if chosen, ok := bank.MethodByID(auth.Method); ok {
			m := methodOf(chosen)
			body.Chosen, body.Challenge = &m, challengeOf(auth)
		}
	}
	return body
}

// subject returns the subject in the path of a call.
func subject(r *request, kind string) bank.Subject {
	id := r.PathValue("paymentId")
	if kind == bank.OfConsent {
		id = r.PathValue("consentId")
	}
	return bank.Subject{Kind: kind, ID: id}
}

// startAuthorisation handles POST …/authorisations, for each kind of subject.
func startAuthorisation(kind string) endpoint {
	return func(a *API, r *request) (answer, error) {
		auth, err := a.Bank.Begin(r.Context(), r.caller, subject(r, kind), r.body)
		if err != nil {
			return answer{}, err
		}
		body := a.authorisationBody(auth)
		body.ID = auth.ID
		return answer{status: http.StatusCreated, body: body, location: a.Base + auth.Path(), approach: auth.Approach}, nil
	}
}

// listAuthorisations handles GET …/authorisations, for each kind of subject.
func listAuthorisations(kind string) endpoint {
	return func(a *API, r *request) (answer, error) {
		ids, err := a.Bank.Authorisations(r.Context(), r.caller, subject(r, kind))
		return answer{status: http.StatusOK, body: map[string]any{"authorisationIds": ids}}, err
	}
}

// authorisationStatus handles GET …/authorisations/{authorisationId}, for each kind of subject.
func authorisationStatus(kind string) endpoint {
	return func(a *API, r *request) (answer, error) {
		auth, err := a.Bank.Authorisation(r.Context(), r.caller, subject(r, kind), r.PathValue("authorisationId"))
		if err != nil {
			return answer{}, err
		}
		body := a.authorisationBody(auth)
		return answer{status: http.StatusOK, body: authorisationBody{Status: body.Status, Message: body.Message, Links: body.Links}}, nil
	}
}

// updateAuthorisation handles PUT …/authorisations/{authorisationId}, for each kind of subject.
func updateAuthorisation(kind string) endpoint {
	return func(a *API, r *request) (answer, error) {
		auth, err := a.Bank.Update(r.Context(), r.caller, subject(r, kind), r.PathValue("authorisationId"), r.body)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: a.authorisationBody(auth), approach: auth.Approach}, nil
	}
}
