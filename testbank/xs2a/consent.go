package xs2a

import (
	"net/http"
)

// consentBody is the response to an accepted request for a consent.
type consentBody struct {
	Status    string `json:"consentStatus"`
	ID        string `json:"consentId"`
	SCAStatus string `json:"scaStatus,omitempty"`
	Message   string `json:"psuMessage,omitempty"`
	Links     links  `json:"_links"`
}

// createConsent handles POST /v1/consents.
func createConsent(a *API, r *request) (answer, error) {
	if err := wantsReturn(a, r); err != nil {
		return answer{}, err
	}
	consent, auth, err := a.Bank.TakeConsent(r.Context(), r.caller, r.body)
	if err != nil {
		return answer{}, err
	}
	body := consentBody{Status: consent.Status, ID: consent.ID}
	if auth != nil {
		state := a.authorisationBody(auth)
		body.Links, body.SCAStatus, body.Message = state.Links, state.Status, state.Message
	} else {
		body.Links = a.start(consent.Prefers, r.caller, consent.Path()+"/authorisations")
	}
	body.Links["self"], body.Links["status"] = a.at(consent.Path()), a.at(consent.Path()+"/status")
	return answer{status: http.StatusCreated, body: body, location: a.Base + consent.Path(), approach: consent.Prefers, notify: consent.Notify != ""}, nil
}

// showConsent handles GET /v1/consents/{consentId}.
func showConsent(a *API, r *request) (answer, error) {
	consent, err := a.Bank.Consent(r.Context(), r.caller, r.PathValue("consentId"))
	if err != nil {
		return answer{}, err
	}
	access, err := a.Bank.Granted(r.Context(), consent)
	return answer{status: http.StatusOK, body: map[string]any{
		"access": access, "recurringIndicator": consent.Recurring, "validUntil": consent.ValidUntil,
		"frequencyPerDay": consent.Frequency, "lastActionDate": consent.LastAction, "consentStatus": consent.Status,
		"_links": links{"self": a.at(consent.Path()), "status": a.at(consent.Path() + "/status"), "account": a.at("/v1/accounts")},
	}}, err
}

// consentStatus handles GET /v1/consents/{consentId}/status.
func consentStatus(a *API, r *request) (answer, error) {
	consent, err := a.Bank.Consent(r.Context(), r.caller, r.PathValue("consentId"))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: map[string]any{"consentStatus": consent.Status}}, nil
}

// deleteConsent handles DELETE /v1/consents/{consentId}.
func deleteConsent(a *API, r *request) (answer, error) {
	return answer{status: http.StatusNoContent}, a.Bank.Terminate(r.Context(), r.caller, r.PathValue("consentId"))
}
