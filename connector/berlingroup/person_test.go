package berlingroup_test

import (
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// TestUserNamesCanBeCorrected checks that the form asks for the user name again after the bank has
// refused it, and not after the bank has accepted it.
func TestUserNamesCanBeCorrected(t *testing.T) {
	refusal, code := refusedWith(401, "PSU_CREDENTIALS_INVALID"), scriptedAnswer{200, `{"scaStatus":"psuAuthenticated","_links":{"authoriseTransaction":{"href":"` + order1 + `/authorisations/2"}}}`}
	password := scriptedAnswer{200, `{"scaStatus":"psuIdentified","_links":{"updatePsuAuthentication":{"href":"` + order1 + `/authorisations/2"}}}`}
	for name, test := range map[string]struct {
		step    string
		answers []scriptedAnswer
		// fields are the fields of the form before each answer. names are the user names that the
		// bank gets.
		fields, names []string
	}{
		"with the password":   {"password", []scriptedAnswer{refusal, code}, []string{"psu_id password", "psu_id password", "code"}, []string{"name1", "name2"}},
		"before the password": {"identification", []scriptedAnswer{refusal, password, refusal, code}, []string{"psu_id", "psu_id", "password", "password", "code"}, []string{"name1", "name2", "name2", "name2"}},
		"a lost answer":       {"password", []scriptedAnswer{{500, ""}, code}, []string{"psu_id password", "psu_id password", "code"}, []string{"name1", "name2"}},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"PUT order/authorisations/2": test.answers, "GET order/status": once(200, `{"transactionStatus":"RCVD"}`), "GET order/authorisations/2": once(200, `{"scaStatus":"received"}`),
			})
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"` + test.step + `","at":"` + order1 + `/authorisations/2","own":"` + order1 + `/authorisations/2"}}`)
			for i, want := range test.fields {
				report, err := o.status()
				var names []string
				for _, f := range report.Fields {
					names = append(names, f.Name)
					if multiline := f.Name == "psu_id" && f.Regex == ""; multiline {
						t.Error("the user name may have line breaks")
					}
				}
				if err != nil || report.Action != payment.FillFields || strings.Join(names, " ") != want {
					t.Fatalf("the form before answer %d has the fields %q, %v, want %s", i+1, names, err, want)
				}
				if i == len(test.fields)-1 {
					continue
				}
				values := map[string]string{"password": "p"}
				if slices.Contains(names, "psu_id") {
					values["psu_id"] = map[int]string{0: "name1", 1: "name2"}[i]
				}
				_, _ = o.answer(connector.Answer{Action: payment.FillFields, Fields: values})
			}
			var got []string
			for i, call := range bank.calls {
				if strings.HasPrefix(call, "PUT") {
					got = append(got, bank.names[i])
				}
			}
			if !slices.Equal(got, test.names) {
				t.Errorf("the bank got the names %q, want %q", got, test.names)
			}
		})
	}
}

// TestFieldsOfOneLine checks that values which become headers cannot have line breaks.
func TestFieldsOfOneLine(t *testing.T) {
	w := newFixture(t, &answering{}, nil)
	w.with("sca =", "psu_id = true\npsu_corporate_id = true\nsca =")
	w.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	fields := w.load().Profile().Data.Fields
	for value, right := range map[string]bool{"anna": true, "Anna Müller, 7": true, "an\nna": false, "anna\n": false, "an\rna": false, "an\x7fna": false} {
		for _, name := range []string{"psu_id", "psu_corporate_id"} {
			values := map[string]string{"psu_id": "anna"}
			values[name] = value
			if err := connector.CheckValues(fields, passerelle.ByWebauth, "openapi", values); (err == nil) != right {
				t.Errorf("%s %q: %v", name, value, err)
			}
		}
	}
}
