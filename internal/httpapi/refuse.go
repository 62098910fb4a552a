package httpapi

import "net/http"

// Refuse responds to a request outside of the API with the API's error body. All refusals therefore
// have the same form.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.failed(r.Context(), err).write(w, r, a.refusal(r.Context()))
}
