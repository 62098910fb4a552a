package delivery

import "passerelle/internal/store"

// Payload is what is sent for a delivery, as text. The body must not be erased.
func Payload(d store.WebhookData) string {
	if d.MediaType == store.JSON {
		return string(withID(d.Body, d.ID))
	}
	return string(d.Body)
}
