package xs2a

import (
	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// routes returns the calls that the bank handles.
func routes() []route {
	all := accountRoutes()
	for _, service := range []string{bank.Single, bank.Bulk, bank.Periodic} {
		base := "/v1/" + service + "/{product}"
		all = append(all, []route{
			{"POST " + base, eidas.PaymentInitiation, initiate(service)},
			{"GET " + base + "/{paymentId}", eidas.PaymentInitiation, granted(information(service))},
			{"DELETE " + base + "/{paymentId}", eidas.PaymentInitiation, granted(cancel(service))},
			{"GET " + base + "/{paymentId}/status", eidas.PaymentInitiation, granted(status(service))},
		}...)
		for _, kind := range []string{bank.OfPayment, bank.OfCancellation} {
			for _, r := range authorisationRoutes(base+"/{paymentId}/"+kind, kind, eidas.PaymentInitiation) {
				all = append(all, route{r.pattern, r.role, granted(r.answer)})
			}
		}
	}
	for _, r := range authorisationRoutes("/v1/consents/{consentId}/authorisations", bank.OfConsent, eidas.AccountInformation) {
		all = append(all, route{r.pattern, r.role, consented(r.answer)})
	}
	return all
}

// consented makes an endpoint require the consent's token once the third party has one.
func consented(of endpoint) endpoint {
	return func(a *API, r *request) (answer, error) {
		consent, err := a.Bank.Consent(r.Context(), r.caller, r.PathValue("consentId"))
		if err == nil && consent.HasToken {
			if err := a.checkToken(r, "AIS:"+consent.ID); err != nil {
				return answer{}, err
			}
		}
		return of(a, r) // the endpoint has its own error for an unknown consent
	}
}

// granted makes an endpoint require the order's token once the third party has one.
func granted(of endpoint) endpoint {
	return func(a *API, r *request) (answer, error) {
		order, err := a.Bank.Order(r.Context(), r.caller, r.PathValue("paymentId"))
		if err == nil && order.Granted {
			err = a.checkToken(r, "PIS:"+order.ID)
		}
		if err != nil {
			return answer{}, err
		}
		return of(a, r)
	}
}

func authorisationRoutes(path, kind string, role eidas.Role) []route {
	return []route{
		{"POST " + path, role, startAuthorisation(kind)},
		{"GET " + path, role, listAuthorisations(kind)},
		{"GET " + path + "/{authorisationId}", role, authorisationStatus(kind)},
		{"PUT " + path + "/{authorisationId}", role, updateAuthorisation(kind)},
	}
}
