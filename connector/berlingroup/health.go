package berlingroup

import "passerelle/connector"

// Health returns the results of recent calls, and when the operator's certificates expire.
func (b *Bank) Health() connector.BankHealth {
	reported := b.health.Health()
	for _, c := range b.Certificates() {
		reported.Certificates = append(reported.Certificates, connector.Expiry{Field: c.Field, Until: c.Until})
	}
	return reported
}
