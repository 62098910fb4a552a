package berlingroup_test

import (
	"fmt"
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

// TestNumbersWithExponents checks that large amounts may have the form in which some programs write
// numbers. A text never has this form.
func TestNumbersWithExponents(t *testing.T) {
	for form, want := range map[string]string{"1.234567891E7": "12345678.91", "-2E+3": "-2000", "0.10": "0.10", `"1.2E7"`: ""} {
		bank := newReadable(t)
		reader := bank.reader()
		bank.list(answers(http.StatusOK, `{"transactions":{"booked":[{"bookingDate":"2026-03-01","transactionAmount":{"currency":"EUR","amount":`+form+`}}]}}`))
		_, got, err := reader.read(true)
		value := ""
		for _, row := range got.rows {
			value = row.Value.String()
		}
		if value != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, want %q", form, value, err, want)
		}
	}
}

// TestAmountsAsNumbers checks that a bank may send amounts as numbers. A transaction keeps its key
// when the bank sends the same amount as a text.
func TestAmountsAsNumbers(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	key := ""
	for _, form := range []string{"%s", `"%s"`} {
		say := func(digits string) string { return `{"currency":"EUR","amount":` + fmt.Sprintf(form, digits) + `}` }
		bank.answer = func(w http.ResponseWriter, r *http.Request) {
			body := `{"accounts":[{"resourceId":"A1","iban":"DE03999010010000000001","currency":"EUR","balances":[{"balanceType":"closingBooked","balanceAmount":` + say("-150.02") + `}]}]}`
			if r.URL.Path != "/v1/accounts" {
				body = `{"transactions":{"booked":[{"bookingDate":"2026-03-01","transactionAmount":` + say("-256.67") + `}]}}`
			}
			fmt.Fprint(w, body)
		}
		_, got, err := reader.read(true)
		if err != nil || len(got.accounts) != 1 || got.accounts[0].Balance.String() != "-150.02" || len(got.rows) != 1 {
			t.Fatalf("as %s: %+v, %v", form, got, err)
		}
		row := got.rows[got.keys()[0]]
		if row.Value.String() != "-256.67" || key != "" && row.Key != key {
			t.Errorf("as %s: %+v, want the key %q", form, row, key)
		}
		key = row.Key
	}
}

// TestAmountsWithZeros checks that a bank may send further decimals that are zero. A transaction
// keeps its key when the bank omits them.
func TestAmountsWithZeros(t *testing.T) {
	for form, want := range map[string]struct{ value, short string }{
		`"271.0600"`: {"271.06", `"271.06"`}, `"-5.00000"`: {"-5.00", `"-5.00"`}, `12.3000`: {"12.30", `12.3`}, `"1.2340"`: {"1.234", `"1.234"`}, `"1.2345"`: {"", `"1.2345"`},
	} {
		bank := newReadable(t)
		reader := bank.reader()
		var keys []string
		for _, amount := range []string{form, want.short} {
			bank.list(answers(http.StatusOK, `{"transactions":{"booked":[{"bookingDate":"2026-03-01","transactionAmount":{"currency":"EUR","amount":`+amount+`}}]}}`))
			_, got, err := reader.read(true)
			for key, row := range got.rows {
				if keys = append(keys, key); amount == form && row.Value.String() != want.value {
					t.Errorf("%s is %s, want %s", form, row.Value, want.value)
				}
			}
			if (err == nil) != (want.value != "") {
				t.Errorf("%s: %v", amount, err)
			}
		}
		if want.value != "" && (len(keys) != 2 || keys[0] != keys[1]) {
			t.Errorf("%s and %s have the keys %q", form, want.short, keys)
		}
	}
}
