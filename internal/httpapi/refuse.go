package httpapi

import "net/http"

// Refuse answers a request that fell outside of the API with what the API
// answers for the error, so that clients of the whole service meet one form of
// refusal.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.failed(r.Context(), err).write(w, r, a.refusal(r.Context()))
}
