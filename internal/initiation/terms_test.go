package initiation_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestTerms(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		id := w.create(1)
		builtIn, err := w.Terms(t.Context(), w.domain, "fr")
		must(t, err)
		if builtIn.ID == 0 || builtIn.Language != "fr" || builtIn.Content == "" || builtIn.Deleted != nil {
			t.Errorf("the terms are %+v", builtIn)
		}
		_, accepted, err := w.AcceptedTerms(t.Context(), w.domain, w.stored(id), "fr")
		if err != nil || accepted {
			t.Errorf("accepted %v, %v", accepted, err)
		}
		p, err := w.AcceptTerms(t.Context(), w.domain, id, builtIn.ID)
		must(t, err)
		if diff := unlike(w.stored(id), p); diff != "" || p.TermsVersion != builtIn.Version {
			t.Errorf("the version is %q\n%s", p.TermsVersion, diff)
		}
		own := store.Terms{Domain: w.domain.ID, Version: "2027", Content: map[string]string{"de": "Bedingungen"}, Created: noon.Add(time.Hour)}
		must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return tx.PublishTerms(&own) }))
		now, err := w.Terms(t.Context(), w.domain, "fr")
		must(t, err)
		if now.ID != own.ID || now.Version != "2027" || now.Language != "de" || now.ID == builtIn.ID {
			t.Errorf("the terms are %+v", now)
		}
		still, accepted, err := w.AcceptedTerms(t.Context(), w.domain, w.stored(id), "xx")
		if err != nil || !accepted || still.Version != builtIn.Version || still.Language != "en" {
			t.Errorf("accepted are %+v, %v, %v", still, accepted, err)
		}
		elsewhere, err := w.Terms(t.Context(), other, "en")
		if err != nil || elsewhere.ID != builtIn.ID {
			t.Errorf("another domain has %+v, %v", elsewhere, err)
		}
		w.termsRefused(t, id, builtIn.ID)
	})
}

func (w *fixture) termsRefused(t *testing.T, id passerelle.PaymentID, old int64) {
	t.Helper()
	rows := w.rows()
	_, err := w.AcceptTerms(t.Context(), w.domain, id, old)
	w.wantRefusal(t, err, rows, passerelle.Invalid, "id_terms")
	_, err = w.AcceptTerms(t.Context(), w.domain, 999, old)
	w.wantRefusal(t, err, rows, passerelle.NotFound, "")
	current, err := w.Terms(t.Context(), w.domain, "en")
	must(t, err)
	_, err = w.AcceptTerms(t.Context(), w.domain, id, current.ID)
	must(t, err)
	p, err := w.Validate(t.Context(), w.domain, id, validated())
	must(t, err)
	if p.TermsVersion != current.Version {
		t.Errorf("the version is %q", p.TermsVersion)
	}
	_, err = w.AcceptTerms(t.Context(), w.domain, id, current.ID)
	must(t, err)
	late, rows := w.sent(1), w.rows()
	_, err = w.AcceptTerms(t.Context(), w.domain, late.ID, current.ID)
	w.wantRefusal(t, err, rows, passerelle.Conflict, "", "validating")
}

func TestCompatibility(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		registry, err := connector.NewRegistry(w.bank.Connectors()...)
		must(t, err)
		w.Connectors = registry
		p := w.stored(w.create(2))
		found := map[string]payment.Severity{}
		against, err := w.Compatibility(t.Context(), w.domain, p, false)
		must(t, err)
		for _, one := range against {
			if one.Profile.Hidden || len(one.Reasons) == 0 {
				t.Errorf("%s has %v", one.Profile.Name, one.Reasons)
			}
			found[one.Reasons[0].Code] = one.Severity
		}
		if found["nspBulk"] != payment.Incompatible || found["trustBenef"] != payment.Warning {
			t.Errorf("found are %v", found)
		}
		live := w.domain
		live.Kind = passerelle.Live
		none, err := w.Initiators(t.Context(), live)
		must(t, err)
		if list, err := w.Compatibility(t.Context(), live, p, true); len(list) != 0 || len(none) != 0 || err != nil {
			t.Errorf("a live domain has %v, %v", list, err)
		}
		all, err := w.Initiators(t.Context(), w.domain)
		must(t, err)
		if n := len(all); n != len(w.bank.Connectors())-3 { // three connectors only read accounts
			t.Errorf("the domain has %d connectors", n)
		}
		if uuids := w.ConnectorUUIDs([]string{"XX"}); uuids == nil || len(uuids) != 0 {
			t.Errorf("in no country there are %v", uuids)
		}
		if uuids := w.ConnectorUUIDs([]string{"FR", "XX"}); len(uuids) == 0 {
			t.Error("there are none in France")
		}
	})
}
