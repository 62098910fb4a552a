package sandbox

import (
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox/customers"
	"passerelle/payment"
)

// bank is one of the simulated banks: its profile and its behaviour.
type bank struct {
	profile connector.Profile
	// usual is the script word that ends orders without a script. Empty means "done".
	usual string
	// cancels is the bank's response to a cancellation. It is empty if the bank does not cancel.
	cancels payment.Cancellation
}

// variant defines how a bank differs from the usual bank. The usual bank accepts every payment in
// EUR and GBP, and asks the payer to approve a cancellation.
type variant struct {
	uuid string
	id   int64
	name string
	// differs changes the variant's own copy of the bank.
	differs func(*bank)
}

// ordinary is the number of the last bank without special behaviour.
const ordinary = 42

// TestConnector is the UUID of the test connector that accepts every payment in EUR and GBP.
const TestConnector = "338178e6-3d01-564f-9a7b-52ca442459bf"

// variants lists the banks: first a few with realistic names, then one for each special behaviour.
// The UUIDs and numbers of the banks never change. A new bank takes a number that is neither in
// this list, nor in customers/reader.go, nor in connector/statements.
var variants = []variant{
	{TestConnector, 40, "Banque Exemple", func(*bank) {}},
	{"c9c5a0a6-7f0e-4c39-8f5e-0d1f6b1c2e41", 41, "Example Bank", british},
	{"6d9b2682-5fa0-496c-9a61-950c1cca8bf7", 42, "Beispielbank", european},

	// Each incompatibility has a bank, and one bank has two incompatibilities.
	{"2de6ced7-8747-4bd5-8052-fa6635925a0c", 43, "Sandbox Low Limit", settings(func(s *payment.Settings) { s.Maximum = each(1000_00) })},
	{"0716ef40-a98a-45d2-8bf1-b338de5a5020", 44, "Sandbox High Minimum", settings(func(s *payment.Settings) { s.Minimum = each(10_00) })},
	{"921d9ebb-a1e8-4fcf-b881-a8cc8caa8b5a", 45, "Sandbox Three Lines", settings(func(s *payment.Settings) { s.MaxInstructions = 3 })},
	{"0caa5986-9c99-4252-bce9-ec45b825699c", 46, "Sandbox Within A Month", settings(func(s *payment.Settings) { s.MaxDays = 30 })},
	{"ac3c51b6-3ee5-499a-8cb1-a03047523d17", 47, "Sandbox Two Days Ahead", settings(func(s *payment.Settings) { s.MinDays = 2 })},
	{"747d4ac9-2232-4dbf-ae63-3872a2779785", 48, "Sandbox No Instant", settings(func(s *payment.Settings) { s.DateTypes = without(s.DateTypes, payment.Instant) })},
	{"65f435ca-a744-45b1-bb4d-69f657b1676e", 49, "Sandbox Not Daily", settings(func(s *payment.Settings) { s.Frequencies = without(s.Frequencies, "daily") })},
	{"7a4783c8-5fb4-4500-8a74-60e162321c8a", 50, "Sandbox One By One", settings(func(s *payment.Settings) { s.MaxInstructions = 1 })},
	{"e03769af-bab9-4805-a2c5-b6b59ca973e2", 51, "Sandbox IBAN Only", settings(func(s *payment.Settings) { s.Schemes = []passerelle.AccountScheme{passerelle.IBAN} })},
	{"2b9497f5-02bc-4217-822a-9a243effe334", 52, "Sandbox Unknown Payer", settings(func(s *payment.Settings) { s.PayerAccount = payment.PayerNotUsed })},
	{"912efc43-155b-4382-8254-4b3321936f93", 53, "Sandbox Open Days", settings(func(s *payment.Settings) { s.OpenDaysOnly = true })},
	{"86a8d684-5f55-4f50-b5d7-7ab91410fe6b", 54, "Sandbox Euro Only", settings(func(s *payment.Settings) { s.Currencies = []passerelle.Currency{"EUR"} })},
	{"13675297-a11e-4434-9e0b-8fb278ce9af5", 55, "Sandbox Trusted Only", settings(func(s *payment.Settings) { s.TrustedBeneficiary = payment.DateTypes() })},
	{"63278ce7-4352-4bdb-8ab0-b64c3cb8a5a8", 56, "Sandbox Low Limit One By One", settings(func(s *payment.Settings) {
		s.Maximum, s.MaxInstructions = each(1000_00), 1
	})},

	// These banks have special behaviour.
	{"2f563544-83c1-4bd3-9fe7-ea9d8f121815", 57, "Sandbox Hidden", func(b *bank) { b.profile.Hidden, b.profile.Payments.MaxInstructions = true, 2 }},
	{"d63ccdd4-0915-46da-8e2c-d7bbebe8c7b5", 58, "Sandbox No Cancellation", func(b *bank) { b.cancels = "" }},
	{"c1aecb20-d380-4f3b-873c-a194f0f5a483", 60, "Sandbox Quick Cancellation", func(b *bank) { b.cancels = payment.CancellationGranted }},
	{"af21fe8a-c3a1-4fc9-bbf5-89f5c707f2a5", 61, "Sandbox Forgetful", func(b *bank) { b.profile.Idempotent = false }},
	{"6c3057db-a418-4f92-af9c-30f6c40fd6c4", 62, "Sandbox Accept Only", func(b *bank) { b.usual, b.profile.Payments.MaxLabel = "accp", 280 }},
	{"6b8dc2a8-d9fa-44d1-a7e0-9f28c443bad0", 63, "Sandbox Known Payer", settings(func(s *payment.Settings) { s.PayerAccount = payment.PayerMandatory })},
}

func (v variant) bank() bank {
	b := bank{
		profile: connector.Profile{
			UUID: v.uuid, ID: v.id, Name: v.name, Countries: sepaCountries, Sandbox: true, Idempotent: true, Labels: customers.Labels(v.name, v.id),
			Sources:       []connector.Source{{ID: v.id*10 + 1, Name: "openapi"}},
			PaymentFields: paymentFields(), Payments: everything(), Peculiar: v.id > ordinary,
		},
		cancels: payment.CancellationAwaiting,
	}
	v.differs(&b)
	b.profile.Payments.Cancellable = b.cancels != ""
	b.profile.Payments.PartialTracking = b.profile.Payments.DateTypes // all banks execute scripts, so payments of every type may end as accepted
	return b
}

func everything() *payment.Settings {
	return &payment.Settings{
		Mechanisms:      []string{payment.DefaultMechanism},
		Schemes:         []passerelle.AccountScheme{passerelle.IBAN, passerelle.SortCode},
		DateTypes:       payment.DateTypes(),
		Frequencies:     payment.Frequencies(),
		Currencies:      []passerelle.Currency{"EUR", "GBP"},
		MaxInstructions: payment.MaxInstructions,
		PayerAccount:    payment.PayerOptional,
	}
}

func settings(change func(*payment.Settings)) func(*bank) {
	return func(b *bank) { change(b.profile.Payments) }
}

func british(b *bank) {
	s := b.profile.Payments
	b.profile.Countries = []string{"GB"}
	s.Schemes, s.Currencies = []passerelle.AccountScheme{passerelle.SortCode}, []passerelle.Currency{"GBP"}
	s.DateTypes, s.Frequencies = []payment.DateType{payment.FirstOpenDay, payment.Instant}, nil
	s.MaxInstructions = 1
}

func european(b *bank) {
	s := b.profile.Payments
	s.Schemes, s.Currencies = []passerelle.AccountScheme{passerelle.IBAN}, []passerelle.Currency{"EUR"}
}

func each(minor int64) map[payment.DateType]int64 {
	bounds := map[payment.DateType]int64{}
	for _, dates := range payment.DateTypes() {
		bounds[dates] = minor
	}
	return bounds
}

func without[T comparable](list []T, one T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(other T) bool { return other == one })
}

// sepaCountries lists the countries of the SEPA schemes. France is first because it is the country
// of the test connector.
var sepaCountries = []string{
	"FR", "AD", "AL", "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI",
	"GB", "GR", "HR", "HU", "IE", "IS", "IT", "LI", "LT", "LU", "LV", "MC", "MD", "ME",
	"MK", "MT", "NL", "NO", "PL", "PT", "RO", "RS", "SE", "SI", "SK", "SM", "VA",
}
