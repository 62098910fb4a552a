package initiation_test

import (
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// TestSourcesOfPayments checks that payments use the first enabled source for payments. If all
// sources for payments are disabled, payments must be refused, even if a source for reading is
// enabled.
func TestSourcesOfPayments(t *testing.T) {
	pays, pages, reads := connector.Source{ID: 11}, connector.Source{ID: 12, Priority: 1}, connector.Source{ID: 13, Priority: 2}
	pages.Mechanisms = []passerelle.AuthMechanism{passerelle.ByWebauth}
	reads.Mechanisms = []passerelle.AuthMechanism{passerelle.ByCredentials}
	off := func(s connector.Source) connector.Source {
		s.Disabled = &noon
		return s
	}
	for name, of := range map[string]struct {
		sources []connector.Source
		want    int64 // -1 if payments are refused
	}{
		"no sources":             {nil, 0},
		"the first by priority":  {[]connector.Source{reads, pages, pays}, 11},
		"the next enabled":       {[]connector.Source{off(pays), pages, reads}, 12},
		"none left for payments": {[]connector.Source{off(pays), off(pages), reads}, -1},
		"one for everything":     {[]connector.Source{reads}, 13},
		"that one disabled":      {[]connector.Source{off(reads)}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(func(p *connector.Profile) { p.Sources = of.sources })
				id, rows := w.create(1), w.rows()
				p, err := w.Validate(t.Context(), w.domain, id, validated())
				if of.want < 0 {
					w.wantRefusal(t, err, rows, passerelle.Invalid, "connector_uuid")
					w.wantState(t, id, payment.Created)
					return
				}
				must(t, err)
				if p.Source != of.want || w.stored(id).Source != of.want {
					t.Errorf("the payment goes through the source %d, want %d", p.Source, of.want)
				}
			})
		})
	}
}
