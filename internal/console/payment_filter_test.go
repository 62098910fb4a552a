package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/operators"
)

// fieldsOfParameters names the field of the console's form for each parameter of GET /payments. The
// name is empty for a parameter that the form does not need.
var fieldsOfParameters = map[string]string{
	"filter": "date", "min_date": "first", "max_date": "last", "connector_uuid": "connector", "country": "country", "state": "state",
	"error_code": "code", "bank_payment_id": "bank", "website": "website", "payer_identification": "payer", "payer_end": "payer",
	"beneficiary_identification": "beneficiary", "beneficiary_end": "beneficiary", "reference_id": "reference", "label": "label",
	"id_client": "client", "min_amount": "least", "max_amount": "most", "execution_date_type": "type",

	"id_connector":        "", // deprecated: connector_uuid selects the same payments
	"id_connector_source": "", // few connectors have several sources
	"limit":               "", // the page has a fixed size
	"offset":              "", // the page has links to its neighbours
	"cursor":              "", // the page has links to its neighbours
	"order_by":            "", // the form chooses an order that an index has
	"reverse":             "",
	"exact_total":         "", // the console never counts more than a fixed number of payments
	"show_sensitive":      "", // operators ask for masked data with a button
	"expand":              "", // the page of a payment shows related objects
}

// fieldsOfConsole are the fields that have no parameter in the API, with the reason.
var fieldsOfConsole = map[string]string{
	"id": "programs read GET /payments/{paymentId}",
}

// formField finds the fields of the form. Their id is their name.
var formField = regexp.MustCompile(`<(?:select|input) id="([a-z_]+)" name="([a-z_]+)"`)

func TestFiltersAreThoseOfTheAPI(t *testing.T) {
	want := slices.AppendSeq(slices.Collect(maps.Values(fieldsOfParameters)), maps.Keys(fieldsOfConsole))
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		page := d.get(d.domainPath("/payments"))
		got := []string{""}
		for _, found := range formField.FindAllStringSubmatch(page.body, -1) {
			if found[1] == found[2] {
				got = append(got, found[1])
			}
		}
		if diff := cmp.Diff(distinct(want), distinct(got)); diff != "" {
			t.Errorf("listFields in internal/console/payment_filter.go has other fields than fieldsOfParameters in internal/console/payment_filter_test.go (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff(distinct(slices.Collect(maps.Keys(fieldsOfParameters))), distinct(parametersOfPayments(t))); diff != "" {
		t.Errorf("GET /payments has other parameters than fieldsOfParameters in internal/console/payment_filter_test.go, which names the field of the form for each (-want +got):\n%s", diff)
	}
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

func parametersOfPayments(t *testing.T) (names []string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/openapi.json")
	must(t, err)
	var document struct {
		Paths map[string]struct {
			Get struct{ Parameters []struct{ Name string } }
		}
	}
	must(t, json.Unmarshal(raw, &document))
	for _, one := range document.Paths["/payments"].Get.Parameters {
		names = append(names, one.Name)
	}
	return names
}
