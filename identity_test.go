package passerelle_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
)

func person() passerelle.Identity {
	return passerelle.Identity{
		Kind:        passerelle.Individual,
		ExternalRef: "customer 7",
		Sensitive:   &passerelle.Sensitive{FirstName: "Ada", LastName: "Lovelace", BirthCountry: "GB"},
	}
}

func company() passerelle.Identity {
	return passerelle.Identity{
		Kind:           passerelle.Corporate,
		OrgName:        "Analytical Engines",
		OrgLegalStatus: "SAS",
		Sensitive: &passerelle.Sensitive{
			SchemeName: passerelle.SIREN, Identification: "732829320",
			OrgHQAddress: "1 rue de la Paix, Paris", OrgBusinessAddress: "1 rue de la Paix, Paris",
		},
	}
}

func TestIdentityAccepted(t *testing.T) {
	tests := []struct {
		name   string
		from   func() passerelle.Identity
		change func(*passerelle.Identity)
	}{
		{"person", person, func(*passerelle.Identity) {}},
		{"kind by default", person, func(i *passerelle.Identity) { i.Kind = "" }},
		{"person with a passport", person, func(i *passerelle.Identity) {
			i.Sensitive.SchemeName, i.Sensitive.Identification = passerelle.PassportNumber, "12AB34567"
		}},
		{"longest name in code points", person, func(i *passerelle.Identity) { i.Sensitive.FirstName = strings.Repeat("é", 255) }},
		{"company", company, func(*passerelle.Identity) {}},
		{"association", company, func(i *passerelle.Identity) {
			i.Kind, i.Sensitive.SchemeName = passerelle.NonProfit, passerelle.RNA
		}},
		{"ministry", company, func(i *passerelle.Identity) {
			i.Kind, i.Sensitive.SchemeName = passerelle.Government, passerelle.IncorporationNumber
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, want := test.from(), test.from()
			test.change(&got)
			test.change(&want)
			if want.Kind == "" {
				want.Kind = passerelle.Individual
			}
			if err := got.Check("payer_identity", true); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdentityRefused(t *testing.T) {
	tests := []struct {
		name, field string
		from        func() passerelle.Identity
		change      func(*passerelle.Identity)
	}{
		{"unknown kind", "kind", person, func(i *passerelle.Identity) { i.Kind = "person" }},
		{"long reference", "external_ref", person, func(i *passerelle.Identity) { i.ExternalRef = strings.Repeat("x", 256) }},
		{"long first name", "first_name", person, func(i *passerelle.Identity) { i.Sensitive.FirstName = strings.Repeat("é", 256) }},
		{"blank last name", "last_name", person, func(i *passerelle.Identity) { i.Sensitive.LastName = " " }},
		{"NUL", "birth_city", person, func(i *passerelle.Identity) { i.Sensitive.BirthCity = "a\x00b" }},
		{"not UTF-8", "nationality", person, func(i *passerelle.Identity) { i.Sensitive.Nationality = "\xff" }},
		{"country", "birth_country", person, func(i *passerelle.Identity) { i.Sensitive.BirthCountry = "England" }},
		{"long address", "postal_address", person, func(i *passerelle.Identity) { i.Sensitive.PostalAddress = strings.Repeat("x", 513) }},
		{"scheme of companies", "scheme_name", person, func(i *passerelle.Identity) { i.Sensitive.SchemeName = passerelle.SIREN }},
		{"number without scheme", "scheme_name", person, func(i *passerelle.Identity) { i.Sensitive.Identification = "1" }},
		{"scheme of associations", "scheme_name", company, func(i *passerelle.Identity) { i.Sensitive.SchemeName = passerelle.RNA }},
		{"unknown scheme", "scheme_name", company, func(i *passerelle.Identity) { i.Sensitive.SchemeName = "siret" }},
		{"scheme without number", "identification", company, func(i *passerelle.Identity) { i.Sensitive.Identification = "" }},
		{"no name", "org_name", company, func(i *passerelle.Identity) { i.OrgName = "" }},
		{"no legal status", "org_legal_status", company, func(i *passerelle.Identity) { i.OrgLegalStatus = "" }},
		{"long legal status", "org_legal_status", company, func(i *passerelle.Identity) { i.OrgLegalStatus = strings.Repeat("x", 129) }},
		{"no seat", "org_hq_address", company, func(i *passerelle.Identity) { i.Sensitive.OrgHQAddress = "" }},
		{"nothing sensitive", "org_hq_address", company, func(i *passerelle.Identity) { i.Sensitive = nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			identity := test.from()
			test.change(&identity)
			wantField(t, identity.Check("payer_identity", false), "payer_identity."+test.field)
		})
	}
}

func TestIdentityNamesAllMissingFields(t *testing.T) {
	tests := map[passerelle.IdentityKind][]string{
		"":                    {"first_name", "last_name"},
		passerelle.Individual: {"first_name", "last_name"},
		passerelle.Corporate:  {"org_name", "org_legal_status", "org_hq_address", "org_business_address", "scheme_name", "identification"},
		passerelle.NonProfit:  {"org_name", "org_legal_status", "org_hq_address", "org_business_address", "scheme_name", "identification"},
		passerelle.Government: {"org_name", "org_legal_status", "org_hq_address", "org_business_address", "scheme_name", "identification"},
	}
	for kind, names := range tests {
		identity := passerelle.Identity{Kind: kind}
		var e *passerelle.Error
		if err := identity.Check("payer_identity", false); !errors.As(err, &e) || e.Code != "missingParameter" {
			t.Fatalf("kind %q: %v", kind, err)
		}
		for _, name := range names {
			if !strings.Contains(e.Message, "payer_identity."+name) {
				t.Errorf("kind %q: %q does not name %s", kind, e.Message, name)
			}
		}
	}
}

func TestIdentityDropsWhatDoesNotApply(t *testing.T) {
	tests := []struct {
		name, field string
		from        func() passerelle.Identity
		change      func(*passerelle.Identity)
	}{
		{"organisation of a person", "org_name", person, func(i *passerelle.Identity) { i.OrgName = strings.Repeat("x", 999) }},
		{"seat of a person", "org_hq_address", person, func(i *passerelle.Identity) { i.Sensitive.OrgHQAddress = "Paris" }},
		{"first name of a company", "first_name", company, func(i *passerelle.Identity) { i.Sensitive.FirstName = "Ada" }},
		{"birth country of a company", "birth_country", company, func(i *passerelle.Identity) { i.Sensitive.BirthCountry = "nowhere" }},
		{"birth of a company", "birth_date", company, func(i *passerelle.Identity) {
			i.Sensitive.BirthDate, _ = passerelle.ParseDate("birth_date", "1815-12-10")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lenient, strict := test.from(), test.from()
			test.change(&lenient)
			test.change(&strict)
			if err := lenient.Check("beneficiary_identity", false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.from(), lenient, cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })); diff != "" {
				t.Errorf("not dropped (-want +got):\n%s", diff)
			}
			wantField(t, strict.Check("beneficiary_identity", true), "beneficiary_identity."+test.field)
		})
	}
}

func TestSensitiveIsNotPrinted(t *testing.T) {
	identity := person()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("given", "sensitive", identity.Sensitive)
	for _, printed := range []string{
		log.String(), fmt.Sprint(identity), fmt.Sprintf("%+v", identity), fmt.Sprint(identity.Sensitive), fmt.Sprintf("%+v", *identity.Sensitive),
	} {
		if strings.Contains(printed, "Lovelace") {
			t.Errorf("printed as %s", printed)
		}
	}
}

func TestSchemeIsRequiredBecauseOfTheNumber(t *testing.T) {
	i := passerelle.Identity{Kind: passerelle.Individual, Sensitive: &passerelle.Sensitive{FirstName: "A", LastName: "B", Identification: "1"}}
	err := i.Check("payer_identity", false)
	if err == nil || !strings.Contains(err.Error(), "payer_identity.scheme_name: is required because an identification was given") {
		t.Error(err)
	}
}
