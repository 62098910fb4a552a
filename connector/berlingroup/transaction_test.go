package berlingroup_test

import (
	"net/http"
	"testing"
)

// TestWordings checks that the label of a transaction comes from the bank's remittance information,
// in each form of the standard.
func TestWordings(t *testing.T) {
	for name, test := range map[string]struct{ members, want string }{
		"a text":                      {`"remittanceInformationUnstructured":"Rent"`, "Rent"},
		"lines of text":               {`"remittanceInformationUnstructuredArray":["Rent","March"]`, "Rent March"},
		"a reference, before 1.3.11":  {`"remittanceInformationStructured":"RF18539"`, "RF18539"},
		"a reference":                 {`"remittanceInformationStructured":{"reference":"RF18539","referenceType":"SCOR"}`, "RF18539"},
		"references":                  {`"remittanceInformationStructuredArray":[{"reference":"RF18539"},{"reference":"RF18540"}]`, "RF18539 RF18540"},
		"references, before 1.3.11":   {`"remittanceInformationStructuredArray":["RF18539","RF18540"]`, "RF18539 RF18540"},
		"references of another form":  {`"remittanceInformationStructuredArray":[7,{"referenceType":"SCOR"}]`, "Landlord"},
		"a text beside references":    {`"remittanceInformationStructuredArray":["RF18539"],"remittanceInformationUnstructured":"Rent"`, "Rent"},
		"only the other side's name":  {`"remittanceInformationUnstructured":""`, "Landlord"},
		"an empty list of references": {`"remittanceInformationStructuredArray":[]`, "Landlord"},
	} {
		bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ntransaction_ids = true")
		reader := bank.reader()
		bank.list(answers(http.StatusOK, `{"transactions":{"booked":[{"transactionId":"1","creditorName":"Landlord","transactionAmount":{"currency":"EUR","amount":"-700.00"},`+test.members+`}]}}`))
		if _, got, err := reader.read(true); err != nil || got.rows["id/1"].Wording != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got.rows["id/1"].Wording, err, test.want)
		}
	}
}
