package sandbox

import (
	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// profiles are the test connectors. Their UUIDs are for ever.
var profiles = []connector.Profile{
	{
		UUID: "338178e6-3d01-564f-9a7b-52ca442459bf", ID: 40, Name: "Connecteur de test",
		Countries: sepaCountries, Sandbox: true, Idempotent: true,
		PaymentFields: paymentFields(),
		Payments: &payment.Settings{
			Mechanisms:      []string{"webauth"},
			Schemes:         []passerelle.AccountScheme{passerelle.IBAN, passerelle.SortCode},
			DateTypes:       payment.DateTypes(),
			Frequencies:     payment.Frequencies(),
			Currencies:      []passerelle.Currency{"EUR", "GBP"},
			MaxInstructions: payment.MaxInstructions,
			PayerAccount:    payment.PayerOptional,
			PartialTracking: []payment.DateType{payment.Periodic},
		},
	},
	{
		UUID: "c9c5a0a6-7f0e-4c39-8f5e-0d1f6b1c2e41", ID: 41, Name: "Sandbox Bank UK",
		Countries: []string{"GB"}, Sandbox: true, Idempotent: true,
		PaymentFields: paymentFields(),
		Payments: &payment.Settings{
			Mechanisms:      []string{"webauth"},
			Schemes:         []passerelle.AccountScheme{passerelle.SortCode},
			DateTypes:       []payment.DateType{payment.FirstOpenDay, payment.Instant},
			Currencies:      []passerelle.Currency{"GBP"},
			MaxInstructions: 1,
			PayerAccount:    payment.PayerOptional,
		},
	},
}

// sepaCountries are those of the SEPA schemes; France leads, as the country
// that the test connector is named in the language of.
var sepaCountries = []string{
	"FR", "AD", "AL", "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI",
	"GB", "GR", "HR", "HU", "IE", "IS", "IT", "LI", "LT", "LU", "LV", "MC", "MD", "ME",
	"MK", "MT", "NL", "NO", "PL", "PT", "RO", "RS", "SE", "SI", "SK", "SM", "VA",
}
