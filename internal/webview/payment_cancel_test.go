package webview_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

var cancel = url.Values{"step": {"cancel"}}

// byPayer has the parameters that the client receives for a payment that the payer cancelled.
var byPayer = url.Values{"payment_state": {"rejected"}, "error": {"cancelled"}, "error_code": {"CancelledByUser"}}

func (s *stack) question(t *testing.T, page string) {
	t.Helper()
	if body := s.get(t, page).body; !strings.Contains(body, `href="`+strings.ReplaceAll(page, "&", "&amp;")+`&amp;step=cancel"`) {
		t.Fatalf("the page does not lead to a cancellation: %s", body)
	}
	body := s.get(t, page+"&step=cancel").body
	for _, want := range []string{"Cancel this payment?", `">No, continue paying</a>`, `<a class="button" href`, `<button class="quiet">Yes, cancel the payment</button>`} {
		if !strings.Contains(body, want) {
			t.Fatalf("the page does not ask first, with %q: %s", want, body)
		}
	}
}

func TestAPaymentThatNoBankHasIsCancelledAtOnce(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for _, c := range []struct {
			supplied url.Values
			path     string
		}{{sorry, "/sorry"}, {nil, "/back"}} {
			p := s.create(t, nil)
			page := s.open(t, p.ID, c.supplied)
			s.question(t, page)
			got := s.post(t, page, "same-origin", cancel)
			if got.location != page+"&step=onward" {
				t.Fatalf("cancelling was answered with %d to %q: %s", got.status, got.location, got.body)
			}
			checkBack(t, s.get(t, got.location), c.path, p.ID, byPayer)
			checkBack(t, s.get(t, s.post(t, page, "same-origin", cancel).location), c.path, p.ID, byPayer)
		}
	})
}

func TestThePayerApprovesTheCancellationAtTheBank(t *testing.T) {
	for _, c := range []struct {
		name, label string
		// pending is set when the payer approves the payment before its cancellation.
		pending bool
	}{
		{"while validating", "actn(redirect)/done", false},
		{"while the bank wants a code", "actn(otp)/done", false},
		{"while pending", "pdng:2d/done", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				p, page := s.ordered(t, "", labelled(c.label))
				if c.pending {
					s.get(t, s.post(t, s.onward(t, page+"&step=onward"), "same-origin", url.Values{"decision": {"approve"}}).location)
					checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"pending"}})
				} else {
					s.question(t, page)
				}
				s.cancelAtBank(t, page)
				checkBack(t, s.get(t, page), "/sorry", p.ID, withMessage(byPayer, "The payment was cancelled at the client's request."))
			})
		})
	}
}

func withMessage(reported url.Values, message string) url.Values {
	more := url.Values{"bank_message": {message}}
	for name, values := range reported {
		more[name] = values
	}
	return more
}

// cancelAtBank cancels on the page and approves the cancellation on the bank's page.
func (s *stack) cancelAtBank(t *testing.T, page string) {
	t.Helper()
	got := s.post(t, page, "same-origin", cancel)
	body := s.get(t, page).body
	if !strings.Contains(body, "Approve the cancellation at Banque Exemple") || strings.Contains(body, "step=cancel") {
		t.Fatalf("the page does not lead to the bank, or offers to cancel once more: %s", body)
	}
	back := s.post(t, s.onward(t, got.location), "same-origin", url.Values{"decision": {"cancel"}})
	if callback := s.get(t, back.location); callback.location != s.origin+page {
		t.Fatalf("the callback sent the payer to %q", callback.location)
	}
}

// late is a bank that receives an order, and whose response to the order is lost.
type late struct{ bank }

func (b late) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	if _, err := b.bank.Initiate(ctx, o); err != nil {
		return payment.Report{}, err
	}
	return payment.Report{}, errors.New("no response came")
}

// The payer cancels in one tab while the order from another tab has no outcome. When the bank then
// waits for an approval, the page asks again whether to cancel. It does not open the bank's page.
func TestACancellationDuringAnotherAct(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		able := s.Connectors.Initiators()[0]
		s.offer(t, late{bank{able, able.Profile()}})
		page := s.open(t, s.create(t, labelled("actn(redirect)/done")).ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		got := s.post(t, page, "same-origin", cancel)
		if waiting := s.get(t, got.location); got.status != http.StatusSeeOther || !strings.Contains(waiting.body, "Waiting for your bank") {
			t.Fatalf("answered %d to %q: %s", got.status, got.location, waiting.body)
		}
		s.advance(t, time.Hour)
		must(t, s.settle(t))
		if asked := s.get(t, got.location); asked.header.Get("Refresh") != "" || !strings.Contains(asked.body, "Cancel this payment?") {
			t.Errorf("the page leads to %q: %s", asked.header.Get("Refresh"), asked.body)
		}
	})
}

// The payer cancels in one tab and then in another one. The second tab also opens the bank's page,
// where the payer approves the cancellation.
func TestACancellationInTwoTabs(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		_, page := s.ordered(t, "", labelled("actn(redirect)/done"))
		first, second := s.post(t, page, "same-origin", cancel), s.post(t, page, "same-origin", cancel)
		if first.location != page+"&step=onward" || second.location != first.location {
			t.Fatalf("the tabs lead to %q and %q", first.location, second.location)
		}
		if got := s.get(t, second.location); got.header.Get("Refresh") == "" || !strings.Contains(got.body, "Approve the cancellation at Banque Exemple") {
			t.Errorf("the second tab stays, with %q: %s", got.header.Get("Refresh"), got.body)
		}
	})
}

// slow is a bank at which the payer approves a cancellation in an app.
type slow struct{ bank }

func (slow) Cancel(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{Status: payment.Awaiting, Raw: "cancelling", Cancellation: payment.CancellationAwaiting, Action: payment.Decoupled}, nil
}

// The payer cancels long after the order. The page then asks the bank for the approval of the
// cancellation by itself, as after an order.
func TestAnApprovalOfALateCancellation(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		able := s.Connectors.Initiators()[0]
		s.offer(t, slow{bank{able, able.Profile()}})
		page := s.open(t, s.create(t, labelled("actn(redirect)/done")).ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		s.advance(t, 20*time.Minute)
		s.post(t, page, "same-origin", cancel)
		body := s.get(t, page).body
		if left := secondsLeft(body); left < 14*60 || !strings.Contains(body, "Approve the cancellation in your banking app") || strings.Contains(body, "no longer checks") {
			t.Errorf("%d seconds are left: %s", left, body)
		}
		must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
			tx.SetClock(s.domain.ID, passerelle.Clock{Offset: 20 * time.Minute}, passerelle.Clock{Offset: 36 * time.Minute})
			return nil
		}))
		if body := s.get(t, page).body; !strings.Contains(body, "no longer checks with your bank") {
			t.Errorf("the page still asks: %s", body)
		}
	})
}

// The page for the approval of a cancellation counts its time from the cancellation, however often
// the page or the payer has asked the bank before.
func TestAnApprovalOfACancellationAfterManyQuestions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		able := s.Connectors.Initiators()[0]
		s.offer(t, slow{bank{able, able.Profile()}})
		page := s.open(t, s.create(t, labelled("actn(redirect)/done")).ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		storetest.Break(t, url, `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
			INSERT INTO attempt (id, payment_id, domain_id, number, kind, action, actor, agreed, state, created, lease_until)
			SELECT 900000 + n.i, a.payment_id, a.domain_id, n.i, 'answer', 'decoupled', 'PSU', TRUE, 'answered', a.created, a.lease_until FROM attempt a, n`)
		s.advance(t, 20*time.Minute)
		s.post(t, page, "same-origin", cancel)
		body := s.get(t, page).body
		if left := secondsLeft(body); left < 14*60 || !strings.Contains(body, "Approve the cancellation in your banking app") {
			t.Errorf("%d seconds are left: %s", left, body)
		}
	})
}

func TestPaymentContinuesWhenCancellationIsDeclined(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		_, page := s.ordered(t, "", labelled("actn(redirect)/done"))
		got := s.post(t, page, "same-origin", cancel)
		back := s.post(t, s.onward(t, got.location), "same-origin", url.Values{"decision": {"keep"}})
		if body := s.get(t, s.get(t, back.location).location).body; !strings.Contains(body, "Continue at Banque Exemple") {
			t.Errorf("the payment does not go on: %s", body)
		}
	})
}

func TestBanksCancelTheirOwnWay(t *testing.T) {
	const quick, never = 60, 58
	for _, c := range []struct {
		name  string
		bank  int64
		draft func(*payment.Draft)
	}{
		{"at once", quick, labelled("actn(redirect)/done")},
		{"not this one, which the payer abandons", quick, labelled("kept/actn(redirect)/done")},
		{"none, which the payer abandons", never, labelled("actn(redirect)/done")},
		{"none, waiting for a code", never, labelled("actn(otp)/done")},
		{"none, waiting for the app", never, labelled("actn(decoupled)/done")},
		{"nothing that is instant", quick, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				s.offer(t, s.numbered(t, c.bank))
				p := s.create(t, c.draft)
				page := s.open(t, p.ID, sorry)
				s.post(t, page, "same-origin", s.form(t, page))
				if !strings.Contains(s.get(t, page).body, "step=cancel") {
					t.Error("the page has no link to a cancellation")
				}
				asks := c.bank == quick && !strings.Contains(c.name, "instant")
				if question := s.get(t, page+"&step=cancel").body; strings.Contains(question, "We ask your bank") != asks || strings.Contains(question, "You abandon the payment here") == asks {
					t.Errorf("the page says what does not happen: %s", question)
				}
				got := s.post(t, page, "same-origin", cancel)
				reported := byPayer
				if c.name == "at once" {
					reported = withMessage(byPayer, "The payment was cancelled at the client's request.")
				}
				checkBack(t, s.get(t, got.location), "/sorry", p.ID, reported)
			})
		})
	}
}

// lasting is a connector. Its payers can still approve for a day after they have abandoned a
// payment.
type lasting struct{ connector.Responder }

func (l lasting) Profile() connector.Profile {
	p := l.Responder.Profile()
	p.ApprovalLife, p.Data = 24*time.Hour, nil
	return p
}

// A payer may abandon a payment that they could still approve at the bank. The payer goes back to
// the client, and the payment has no outcome yet.
func TestAnAbandonedPaymentHasNoOutcomeYet(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		s.offer(t, lasting{s.numbered(t, 58).(connector.Responder)})
		p := s.create(t, labelled("actn(redirect)/done"))
		page := s.open(t, p.ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		got := s.post(t, page, "same-origin", cancel)
		checkBack(t, s.get(t, got.location), "/sorry", p.ID, url.Values{"payment_state": {"validating"}})
		if body := s.get(t, page).body; !strings.Contains(body, "step=cancel") {
			t.Errorf("the page does not go on: %s", body)
		}
	})
}

// A payer may approve at the bank, for example in another window. The payer can then no longer
// abandon the payment. The service asks the bank, and the payment continues.
func TestWhatWasApprovedIsNotAbandoned(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		s.offer(t, s.numbered(t, 58))
		p := s.create(t, labelled("pdng:2d/done"))
		page := s.open(t, p.ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		s.post(t, s.onward(t, page+"&step=onward"), "same-origin", url.Values{"decision": {"approve"}})
		got := s.post(t, page, "same-origin", cancel)
		if !strings.Contains(got.body, "can no longer cancel this payment") && got.location == "" {
			t.Errorf("answered %d to %q: %s", got.status, got.location, got.body)
		}
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"pending"}})
	})
}

func (s *stack) numbered(t *testing.T, id int64) connector.Connector {
	t.Helper()
	for _, c := range s.simulated.Connectors() {
		if c.Profile().ID == id {
			return c
		}
	}
	t.Fatalf("there is no connector %d", id)
	return nil
}

func TestAClientsCancellationLeadsWhereItSaid(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		for decision, reported := range map[string]url.Values{
			"cancel": {"payment_state": {"rejected"}, "error_code": {"CancelledByClient"}, "bank_message": {"The payment was cancelled at the client's request."}},
			"keep":   {"payment_state": {"validating"}},
		} {
			p, page := s.ordered(t, "", labelled("actn(redirect)/done"))
			_, err := s.Cancel(t.Context(), s.domain, p.ID, initiation.CancelRequest{
				By: payment.ByClient, RedirectURI: "https://shop.example/sorry", State: "other & more",
			})
			must(t, err)
			back := s.post(t, s.onward(t, page+"&step=onward"), "same-origin", url.Values{"decision": {decision}})
			reported.Set("state", "other & more")
			checkBack(t, s.get(t, back.location), "/sorry", p.ID, reported)
		}
	})
}
