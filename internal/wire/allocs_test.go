package wire_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// mostToEncode is the largest permitted number of allocations for rendering and encoding a payment
// with one instruction. It is a quarter above the measured number.
const mostToEncode = 28

func TestAllocationsOfAPayment(t *testing.T) {
	p := &payment.Payment{
		ID: 7, State: payment.Created, ClientRedirectURI: "https://shop.example/back", ClientState: "order 7", Created: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		Instructions: []payment.Instruction{{
			ID: 8, ReferenceID: "reference 7", Label: "Invoice 7", DateType: payment.Instant, Amount: passerelle.Money{Minor: 1250, Currency: "EUR"},
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Shop"},
		}},
	}
	view := wire.View{Location: time.UTC, ConnectorID: func(string) (int64, bool) { return 0, false }}
	got := testing.AllocsPerRun(100, func() { wire.Encode(wire.NewPayment(p, view)) })
	if got > mostToEncode {
		t.Errorf("%.0f allocations, at most %d", got, mostToEncode)
	}
}
