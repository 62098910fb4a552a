package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
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

// TestFiltersNameTheirFields checks that a message about a wrong filter names the field by the
// label on the page, and not by the name of the parameter.
func TestFiltersNameTheirFields(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		long := strings.Repeat("x", 201)
		hook := d.webhookPath(d.register("PAYMENT_STATE_UPDATED", "http://127.0.0.1:1/hook", nil))
		for path, want := range map[string]string{
			d.domainPath("/payments?state=odd"):               "State: is not one of the options",
			d.domainPath("/payments?id=odd"):                  "Number: must be the number of a payment",
			d.domainPath("/payments?first=odd"):               "From: must be a day",
			d.domainPath("/payments?last=odd"):                "To: must be a day",
			d.domainPath("/payments?least=0"):                 "Minimum amount: must be more than zero",
			d.domainPath("/payments?most=odd"):                "Maximum amount: must be",
			d.domainPath("/payments?least=2&most=1"):          "Maximum amount: must not be less than the minimum amount",
			d.domainPath("/payments?reference=" + long):       "End-to-end id: ",
			d.domainPath("/audit?operator=odd"):               "Operator: must be a number",
			d.domainPath("/audit?id=odd"):                     "Subject number: must be a number",
			d.domainPath("/audit?since=odd"):                  "From: must be a day",
			d.domainPath("/audit?until=odd"):                  "To: must be a day",
			hook + "?state=odd":                               "State: must be one of",
			hook + "?first=odd":                               "From: must be a day",
			hook + "?first=2026-02-02&last=2026-02-01":        "To: must not be before the first day",
			d.domainPath("/simulation/receiver?name=" + long): "Name: at most 200 characters",
		} {
			if body := d.get(path).body; !strings.Contains(body, "<p>"+want) {
				t.Errorf("%s does not say %q: %s", path, want, body)
			}
		}
	})
}
