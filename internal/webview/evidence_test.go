package webview_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle/internal/store"
	"passerelle/payment"
)

// wantEvidence compares the stored evidence of a payment with the expected evidence.
func (s *stack) wantEvidence(t *testing.T, p *payment.Payment, want ...payment.Evidence) {
	t.Helper()
	for i := range want {
		want[i].Payment, want[i].Domain = p.ID, s.domain.ID
	}
	got, err := s.DB.Evidence(t.Context(), s.domain.ID, p.ID)
	must(t, err)
	for _, e := range got {
		if e.At.Before(p.Created) {
			t.Errorf("the payer acted at %s, before there was a payment", e.At)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(payment.Evidence{}, "At"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what the payer saw (-want +got): %s", diff)
	}
}

func shownIn(amount, when, terms string) payment.ShownPayment {
	return payment.ShownPayment{
		Application: "Maison Dupont", Amount: amount, When: when, Terms: terms,
		Lines: []payment.ShownLine{{Amount: amount, Name: "Maison Dupont SARL", Account: "FR76 3000 6000 0112 3456 7890 189", Label: "Order 1234"}},
	}
}

// When a payer orders a payment on a page, the service stores the page's content. A refused or
// repeated order stores nothing.
func TestWhatThePayerSawIsKept(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := strings.Replace(s.open(t, p.ID, nil), "/en/", "/fr/", 1)
		form := s.form(t, page)
		bank := s.Connectors.Initiators()[0].Profile().Name
		wrong := url.Values{"bank": form["bank"], "terms": {"7"}}
		if got := s.post(t, page, "same-origin", wrong); got.status != http.StatusUnprocessableEntity {
			t.Fatalf("other terms were answered with %d", got.status)
		}
		s.wantEvidence(t, p)
		for range 2 {
			s.post(t, page, "same-origin", form)
		}
		ordered := payment.Evidence{Act: payment.ActOrder, Attempt: 1, Language: "fr", Shown: shownIn("1\u202f234,56\u00a0€", "Tout de suite, par virement instantané", "0")}
		ordered.Shown.Bank = bank
		s.wantEvidence(t, p, ordered)
	})
}

func TestWhatThePayerSawWhenCancelling(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := strings.Replace(s.open(t, p.ID, nil), "/en/", "/de/", 1)
		s.post(t, page, "same-origin", url.Values{"step": {"cancel"}})
		seen := shownIn("1.234,56\u00a0€", "Sofort, als Echtzeitüberweisung", "")
		s.wantEvidence(t, p, payment.Evidence{Act: payment.ActCancel, Language: "de", Shown: seen})
	})
}

// In the evidence, the payer's yes or no to the bank is a separate act.
func TestWhatThePayerSawWhenAsked(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for word, act := range map[string]payment.Act{"yes": payment.ActAgree, "no": payment.ActRefuse} {
			p, page := s.ordered(t, "", labelled("actn(psu)/done"))
			s.post(t, page, "same-origin", url.Values{"step": {"psu"}, "word": {word}})
			seen := shownIn("€1,234.56", "On the next banking day", "0")
			seen.Bank, seen.Lines[0].Label = s.Connectors.Initiators()[0].Profile().Name, "actn(psu)/done"
			then := seen
			then.Terms = ""
			s.wantEvidence(t, p,
				payment.Evidence{Act: payment.ActOrder, Attempt: 1, Language: "en", Shown: seen},
				payment.Evidence{Act: act, Attempt: 2, Language: "en", Shown: then})
		}
	})
}

// When the service cannot store the evidence of an act, the act does not change the payment. In
// this test, the database already has other evidence of the act.
func TestEvidenceIsKeptWithTheActOrNotAtAll(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := s.open(t, p.ID, nil)
		form := s.form(t, page)
		must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
			return tx.Witness(payment.Evidence{Payment: p.ID, Domain: s.domain.ID, Act: payment.ActCancel, Attempt: 0, Language: "en"})
		}))
		s.post(t, page, "same-origin", url.Values{"step": {"cancel"}})
		if state := s.stored(t, p.ID).State; state != payment.Created {
			t.Errorf("without its evidence the payment became %s", state)
		}
		if got := s.post(t, page, "same-origin", form); got.location != page+"&step=onward" {
			t.Errorf("ordering was answered with %d to %q", got.status, got.location)
		}
	})
}
