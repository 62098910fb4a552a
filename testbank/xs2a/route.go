package xs2a

import (
	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// routes returns the calls that the bank answers.
func routes() []route {
	all := accountRoutes()
	for _, service := range []string{bank.Single, bank.Bulk, bank.Periodic} {
		base := "/v1/" + service + "/{product}"
		all = append(all, []route{
			{"POST " + base, eidas.PaymentInitiation, initiate(service)},
			{"GET " + base + "/{paymentId}", eidas.PaymentInitiation, information(service)},
			{"DELETE " + base + "/{paymentId}", eidas.PaymentInitiation, cancel(service)},
			{"GET " + base + "/{paymentId}/status", eidas.PaymentInitiation, status(service)},
		}...)
		for _, kind := range []string{bank.OfPayment, bank.OfCancellation} {
			all = append(all, authorisationRoutes(base+"/{paymentId}/"+kind, kind, eidas.PaymentInitiation)...)
		}
	}
	return append(all, authorisationRoutes("/v1/consents/{consentId}/authorisations", bank.OfConsent, eidas.AccountInformation)...)
}

func authorisationRoutes(path, kind string, role eidas.Role) []route {
	return []route{
		{"POST " + path, role, startAuthorisation(kind)},
		{"GET " + path, role, listAuthorisations(kind)},
		{"GET " + path + "/{authorisationId}", role, authorisationStatus(kind)},
		{"PUT " + path + "/{authorisationId}", role, updateAuthorisation(kind)},
	}
}
