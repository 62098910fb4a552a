package initiation_test

import (
	"net/netip"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

// TestEarlyDataIsForgotten checks that stored field values and the payer's device stay while the
// order may be sent again, and are removed when the payment is validated or cancelled.
func TestEarlyDataIsForgotten(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		kept := func(want int64) {
			t.Helper()
			values := column[int64](w, `SELECT count(*) FROM payment_given`)[0]
			devices := column[int64](w, `SELECT count(*) FROM attempt WHERE device IS NOT NULL`)[0]
			if values+devices != want {
				t.Errorf("%d values and %d devices are stored, want %d in all", values, devices, want)
			}
		}
		create := func() passerelle.PaymentID {
			id := w.create(1)
			_, err := w.Validate(t.Context(), w.domain, id, validated(func(c *initiation.Choice) { c.Validated = false }))
			must(t, err)
			return id
		}
		ctx := connector.WithDevice(t.Context(), connector.Device{Address: netip.MustParseAddr("192.0.2.7")})
		id := create()
		w.line.breaks(before(fails(errCut)), nil)
		_, err := w.Validate(ctx, w.domain, id, validated())
		must(t, err)
		w.wantState(t, id, payment.Created)
		kept(2)
		w.line.breaks(nil, nil)
		w.leasesLapse()
		for w.stored(id).State == payment.Created {
			_, err := w.RunDue(t.Context(), w.domain)
			must(t, err)
			w.leasesLapse()
		}
		kept(0)
		_, err = w.Validate(ctx, w.domain, create(), validated())
		must(t, err)
		kept(0)
		chosen := create()
		kept(1)
		_, err = w.Cancel(t.Context(), w.domain, chosen, initiation.CancelRequest{RedirectURI: shop})
		must(t, err)
		kept(0)
	})
}
