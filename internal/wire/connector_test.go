package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func members(t *testing.T, object any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(wire.Encode(object), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// With empty settings, lists are empty instead of null. The only limit is 1,000 instructions, which
// applies to all payments.
func TestConnectorOfFewWords(t *testing.T) {
	got := members(t, wire.NewConnector(wire.Bank{UUID: "u", ID: 7, Name: "B", Payments: &payment.Settings{PayerAccount: payment.PayerOptional}}, wire.ConnectorView{}))
	settings := got["payment_settings"].(map[string]any)
	none := map[string]any{"first_open_day": nil, "instant": nil, "deferred": nil, "periodic": nil}
	want := map[string]any{
		"available_validate_mechanisms": []any{}, "beneficiary_types": []any{}, "execution_date_types": []any{}, "execution_frequencies": []any{},
		"currencies": []any{}, "maximum_number_of_instructions": 1000., "providing_payer_account": "optional", "partial_status_tracking": []any{},
		"is_app_to_app_used": map[string]any{"android": false, "ios": false}, "bank_provides_payer_account": false, "bank_provides_payer_label": false,
		"transfer_date_types_where_trusted_beneficiary_required": []any{}, "cancellation_available": false, "open_days_only": false,
		"minimum_amount": none, "maximum_amount": none, "minimum_date_delta_days": 0., "maximum_date_delta_days": nil,
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("payment_settings (-want +got):\n%s", diff)
	}
	for _, expansion := range []string{"payment_fields", "countries", "fields", "sources", "urls", "documents_type"} {
		if _, there := got[expansion]; there {
			t.Errorf("%s was not asked for", expansion)
		}
	}
}

// Bounds have the precision of the connector's first currency. A minimum of zero is a bound.
func TestConnectorBounds(t *testing.T) {
	s := &payment.Settings{
		Currencies: []passerelle.Currency{"JPY", "EUR"}, MaxInstructions: 1, MaxDays: 30,
		Minimum: map[payment.DateType]int64{payment.Instant: 0}, Maximum: map[payment.DateType]int64{payment.Instant: 100000},
	}
	settings := members(t, wire.NewConnector(wire.Bank{Payments: s}, wire.ConnectorView{}))["payment_settings"].(map[string]any)
	for path, want := range map[string]any{"minimum_amount": 0., "maximum_amount": 100000.} {
		if got := settings[path].(map[string]any)["instant"]; got != want {
			t.Errorf("%s of instant payments: %v, want %v", path, got, want)
		}
	}
	if settings["maximum_number_of_instructions"] != 1. || settings["maximum_date_delta_days"] != 30. {
		t.Errorf("settings: %v", settings)
	}
}

// A response shows countries with their names. It shows a code without a country unchanged.
func TestConnectorExpansions(t *testing.T) {
	b := wire.Bank{Payments: &payment.Settings{Mechanisms: []string{"webauth"}}, Countries: []string{"FR", "GB", "?"}, Fields: []payment.Field{{Name: "f", Type: "text", Label: "F"}}}
	got := members(t, wire.NewConnector(b, wire.ConnectorView{PaymentFields: true, Countries: true}))
	want := []any{map[string]any{"id": "FR", "name": "France"}, map[string]any{"id": "GB", "name": "United Kingdom"}, map[string]any{"id": "?", "name": "?"}}
	if diff := cmp.Diff(want, got["countries"]); diff != "" {
		t.Errorf("countries (-want +got):\n%s", diff)
	}
	fields := []any{map[string]any{
		"name": "f", "type": "text", "label": "F", "regex": nil, "required": false, "values": []any{}, "auth_mechanisms": []any{"webauth"}, "connector_sources": []any{},
	}}
	if diff := cmp.Diff(fields, got["payment_fields"]); diff != "" {
		t.Errorf("payment_fields (-want +got):\n%s", diff)
	}
}

// An incompatibility has the severity and the reasons that NewIncompatibility receives. An empty
// list in value_connector or value_payment is [], not null.
func TestIncompatibility(t *testing.T) {
	warning := payment.Reason{Code: "maxAmount", Severity: payment.Warning, ConnectorValue: json.Number("1000.00"), PaymentValue: json.Number("1000.01")}
	excluding := payment.Reason{Code: "nspFrequency", Severity: payment.Incompatible, ConnectorValue: []payment.Frequency(nil), PaymentValue: payment.Frequency("daily")}
	for want, reasons := range map[string][]payment.Reason{"warning": {warning}, "incompatible": {warning, excluding}} {
		got := members(t, wire.NewIncompatibility("u", 7, payment.Severity(want), reasons))
		if got["type"] != want || len(got["reasons"].([]any)) != len(reasons) || got["connector_uuid"] != "u" || got["id_connector"] != 7. {
			t.Errorf("%v, want %s", got, want)
		}
	}
	last := wire.NewIncompatibility("u", 7, payment.Incompatible, []payment.Reason{excluding}).Reasons[0]
	if diff := cmp.Diff(`{"code":"nspFrequency","type":"incompatible","description":"","value_connector":[],"value_payment":"daily"}`, string(wire.Encode(last))); diff != "" {
		t.Errorf("the reason (-want +got):\n%s", diff)
	}
}

// A connector shows which data it can read, and the mechanism of the source that new connections
// use first.
func TestConnectorsThatRead(t *testing.T) {
	b := wire.Bank{
		Capabilities: []string{"bank", "document"}, AccountTypes: []passerelle.AccountType{"checking"}, Usages: []passerelle.Usage{passerelle.Private}, MonthsToFetch: 3,
		Sources: []wire.Source{
			{ID: 1, Name: "openapi", Mechanisms: []passerelle.AuthMechanism{passerelle.ByWebauth}, Priority: 1},
			{ID: 2, Name: "directaccess", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}},
			{ID: 3, Name: "fallback", Priority: 2},
		},
	}
	got := members(t, wire.NewConnector(b, wire.ConnectorView{Sources: true, PaymentFields: true}))
	for name, want := range map[string]any{
		"auth_mechanism": "credentials", "available_auth_mechanisms": []any{"credentials", "webauth"}, "capabilities": []any{"bank", "document"},
		"products": []any{"bank", "bill"}, "account_types": []any{"checking"}, "account_usages": []any{"PRIV"}, "months_to_fetch": 3.0,
		"payment_settings": nil, "payment_fields": nil,
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for i, want := range []map[string]any{
		{"auth_mechanism": "webauth", "priority": 1.0, "capabilities": []any{"bank", "document"}},
		{"auth_mechanism": "credentials", "priority": 0.0, "capabilities": []any{"bank", "document"}},
		{"auth_mechanism": "webauth", "priority": 2.0, "capabilities": []any{}},
	} {
		source := got["sources"].([]any)[i].(map[string]any)
		for name, value := range want {
			if diff := cmp.Diff(value, source[name]); diff != "" {
				t.Errorf("%s of source %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}
