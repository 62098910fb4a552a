package webview_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/payment"
)

// asking is a bank that asks the payer whether to cancel an order.
type asking struct{ bank }

func (asking) Cancel(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{Status: payment.Awaiting, Cancellation: payment.CancellationAwaiting, Action: payment.PSUValidation}, nil
}

func (asking) Answer(_ context.Context, _ connector.Order, said connector.Answer) (payment.Report, error) {
	if said.Yes {
		return payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}, nil
	}
	return payment.Report{Status: payment.Awaiting, Action: payment.Decoupled}, nil
}

// TestTheBankAsksWhetherToCancel: the page must ask about the cancellation, not about the payment.
// "Yes" cancels the payment, and "no" continues it.
func TestTheBankAsksWhetherToCancel(t *testing.T) {
	for word, act := range map[string]payment.Act{"yes": payment.ActCancel, "no": payment.ActRefuse} {
		t.Run(word, func(t *testing.T) {
			each(t, nil, func(t *testing.T, s *stack) {
				able := s.Connectors.Initiators()[0]
				s.offer(t, asking{bank{able, able.Profile()}})
				p := s.create(t, labelled("actn(redirect)/done"))
				page := s.open(t, p.ID, sorry)
				s.post(t, page, "same-origin", s.form(t, page))
				s.post(t, page, "same-origin", cancel)
				body := s.get(t, page).body
				for _, want := range []string{"Confirm the cancellation", "Yes, cancel the payment", "No, continue paying"} {
					if !strings.Contains(body, want) || strings.Contains(body, "Yes, pay") {
						t.Fatalf("the page does not ask whether to cancel, with %q: %s", want, body)
					}
				}
				s.post(t, page, "same-origin", answering(t, body, url.Values{"step": {"psu"}, "word": {word}}))
				if got := s.get(t, page); word == "yes" {
					checkBack(t, got, "/sorry", p.ID, byPayer)
				} else if !strings.Contains(got.body, "Approve in your banking app") {
					t.Errorf("answered %d: %s", got.status, got.body)
				}
				kept, err := s.DB.Evidence(t.Context(), s.domain.ID, p.ID)
				must(t, err)
				if len(kept) != 3 || kept[2].Act != act {
					t.Errorf("the evidence is %+v", kept)
				}
			})
		})
	}
}

// changing is a bank that asks whether to cancel an order. Then it refuses to cancel, and asks whether
// to pay. It counts the answers.
type changing struct {
	asking
	answers *int
}

func (changing) Status(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{Status: payment.Awaiting, Cancellation: payment.CancellationRefused, Action: payment.PSUValidation}, nil
}

func (b changing) Answer(ctx context.Context, o connector.Order, said connector.Answer) (payment.Report, error) {
	*b.answers++
	return b.asking.Answer(ctx, o, said)
}

// TestTheQuestionChangesFromCancelToPay: the payer still sees the question whether to cancel, when the
// bank asks whether to pay. An answer on the old page must not reach the bank, because "yes" would
// mean to pay.
func TestTheQuestionChangesFromCancelToPay(t *testing.T) {
	for _, word := range []string{"yes", "no"} {
		each(t, nil, func(t *testing.T, s *stack) {
			able, answers := s.Connectors.Initiators()[0], 0
			s.offer(t, changing{asking{bank{able, able.Profile()}}, &answers})
			p := s.create(t, labelled("actn(redirect)/done"))
			page := s.open(t, p.ID, sorry)
			s.post(t, page, "same-origin", s.form(t, page))
			s.post(t, page, "same-origin", cancel)
			form := answering(t, s.get(t, page).body, url.Values{"step": {"psu"}, "word": {word}})
			later := s.domain
			later.Clock.Offset += time.Hour
			_, err := s.RunDue(t.Context(), later)
			must(t, err)
			if now := s.stored(t, p.ID); now.Detail != "" || now.Action != payment.PSUValidation {
				t.Fatalf("the payment is %s, %q with the action %q", now.State, now.Detail, now.Action)
			}
			for range 2 {
				if got := s.post(t, page, "same-origin", form); got.location != page+"&step=onward" || answers != 0 {
					t.Errorf("%s: answered %d to %q, and the bank got %d answers", word, got.status, got.location, answers)
				}
				form.Del("question") // a form without a number still names the kind of its question
			}
			if now := s.get(t, page); !strings.Contains(now.body, "Yes, pay") {
				t.Errorf("the page does not ask whether to pay: %s", now.body)
			}
			s.post(t, page, "same-origin", answering(t, s.get(t, page).body, url.Values{"step": {"psu"}, "word": {word}}))
			if answers != 1 {
				t.Errorf("%s: the bank got %d answers to its own question", word, answers)
			}
		})
	}
}

// coded is a bank that asks for a code before it cancels an order.
type coded struct{ asking }

func (coded) Cancel(context.Context, connector.Order) (payment.Report, error) {
	return payment.Report{Status: payment.Awaiting, Cancellation: payment.CancellationAwaiting, Action: payment.FillFields, Fields: []payment.Field{
		{Name: "code", Type: "text", Label: "Code", Required: true},
	}}, nil
}

func (coded) Answer(_ context.Context, _ connector.Order, said connector.Answer) (payment.Report, error) {
	if said.Fields["code"] != "1234" {
		return coded{}.Cancel(context.Background(), connector.Order{})
	}
	return payment.Report{Status: payment.Declined, Cancellation: payment.CancellationGranted}, nil
}

// TestTheBankAsksForACodeToCancel: the code approves the cancellation, so the page must not say that
// it is for the payment.
func TestTheBankAsksForACodeToCancel(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		able := s.Connectors.Initiators()[0]
		s.offer(t, coded{asking{bank{able, able.Profile()}}})
		p := s.create(t, labelled("actn(redirect)/done"))
		page := s.open(t, p.ID, sorry)
		s.post(t, page, "same-origin", s.form(t, page))
		s.post(t, page, "same-origin", cancel)
		body := s.get(t, page).body
		for _, want := range []string{"Your bank needs more information to cancel", "Fill this in to cancel the payment."} {
			if !strings.Contains(body, want) || strings.Contains(body, "for this payment only") {
				t.Errorf("the page does not ask for a code to cancel, with %q: %s", want, body)
			}
		}
		code := func(code string) url.Values { return answering(t, body, field("code", code)) }
		for n := range 2 {
			got := s.post(t, page, "same-origin", code("9999"))
			if !strings.Contains(got.body, "did not accept") {
				t.Errorf("a wrong code is answered with %d to %q: %s", got.status, got.location, got.body)
			}
			if n == 0 {
				wantMarked(t, got.body, "field.code")
			}
		}
		body = s.get(t, page).body
		s.post(t, page, "same-origin", code("1234"))
		checkBack(t, s.get(t, page), "/sorry", p.ID, byPayer)
	})
}
