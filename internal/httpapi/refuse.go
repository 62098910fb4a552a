package httpapi

import "net/http"

// Refuse answers a request outside of the API in the form of the API's errors, so that all
// refusals have one form.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.failed(r.Context(), err).write(w, r, a.refusal(r.Context()))
}
