package sandbox

import (
	"net/http"

	"passerelle/connector/sandbox/speech"
)

// pair is one returned query parameter.
type pair struct{ Name, Value string }

// returned lists, in display order, the parameters with which a payer returns to a shop, or a user
// returns to an application.
var returned = []string{
	"id_payment", "payment_state", "error_code", "connection_id", "connection_ids", "connection_deleted", "id_connection", "code",
	"error", "error_description", "bank_message", "state",
}

// maxReturned is the maximum number of characters of a parameter that the page shows.
const maxReturned = 2000

// shopTitles maps the states of a payment to titles of the page.
var shopTitles = map[string]string{
	"done":       "Thank you, your payment is done",
	"accepted":   "Thank you, the bank accepted your payment",
	"pending":    "Thank you, your payment is on its way",
	"validating": "Your payment is not approved yet",
	"partial":    "Part of your payment was made",
	"rejected":   "Your payment was not made",
	"expired":    "Your payment has expired",
}

// Shop serves the pages of a fictional shop. Mount it at /sandbox/shop/. Developers without a site
// can use every address below this path as a redirect URI. The page shows the parameters with which
// a payer returns. The page has no access to payments, so it does not check the parameters.
func (b *Bank) Shop() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !reads(r) {
			notAllowed(w, r, "GET, HEAD")
			return
		}
		render(w, http.StatusOK, shopView(r))
	})
}

func shopView(r *http.Request) view {
	query := r.URL.Query()
	v := view{Speech: speech.To(r, ""), Bank: "Demo Shop", Letters: "DS", Color: "shop", Fiction: "This shop sells nothing.", Title: shopTitles[query.Get("payment_state")]}
	for _, name := range returned {
		if query.Has(name) {
			v.Back = append(v.Back, pair{name, cut(query.Get(name))})
		}
	}
	switch {
	case query.Get("error") == "":
	case query.Has("id_payment") || query.Get("error") == "cancelled":
		v.Title = "You came back without paying"
	default:
		v.Title = "You came back before finishing"
	}
	if v.Title == "" {
		v.Title = "Welcome back"
	}
	v.Notice = "This page stands in for your own. It shows the parameters that the browser returned with. Check them with the API before you rely on them."
	if len(v.Back) == 0 {
		v.Notice = "This page stands in for your own. Use its address as the one that payers return to, and it shows the parameters they return with."
	}
	v.Title, v.Notice = v.Say(v.Title), v.Say(v.Notice)
	return v
}

func cut(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), maxReturned)])
}
