package webview_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// answering returns a form with an answer to the question that a page shows.
func answering(t *testing.T, body string, form url.Values) url.Values {
	t.Helper()
	found := regexp.MustCompile(`name="question" value="([1-9][0-9]*)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the form has no number of the question: %s", body)
	}
	form.Set("question", found[1])
	form.Del("cancelling")
	if strings.Contains(body, `name="cancelling" value="1"`) {
		form.Set("cancelling", "1")
	}
	return form
}

// A bank may lock the payer's access after a few wrong codes, so it must receive each code once.
// Here the bank refuses the payment after three wrong answers.
func TestAWrongAnswerSentTwice(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, page := s.ordered(t, "", labelled("actn(fields)/done"))
		code := func(body, code string) url.Values {
			return answering(t, body, url.Values{"step": {"fields"}, "field.code": {code}, "field.device": {"tablet"}, "field.state": {"mine"}})
		}
		first := s.get(t, page).body
		wrong := code(first, "9999")
		var got answer
		var version int64
		for n := range 4 {
			got = s.post(t, page, "same-origin", wrong)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "did not accept") || !strings.Contains(got.body, `value="tablet" checked`) {
				t.Errorf("answer %d gives %d: %s", n+1, got.status, got.body)
			}
			if now := s.stored(t, p.ID).Version; n > 0 && now != version {
				t.Errorf("answer %d changed the payment", n+1)
			} else {
				version = now
			}
		}
		if old := s.post(t, page, "same-origin", code(first, "1234")); !strings.Contains(old.body, "was not sent, because the page was out of date") {
			t.Errorf("the right answer in the first form gives %d: %s", old.status, old.body)
		}
		if again := s.post(t, page, "same-origin", code(got.body, "9998")); !strings.Contains(again.body, "did not accept") {
			t.Errorf("another wrong answer gives %d: %s", again.status, again.body)
		} else if last := s.post(t, page, "same-origin", code(again.body, "1234")); last.location != page+"&step=onward" {
			t.Errorf("the right answer is answered with %d to %q: %s", last.status, last.location, last.body)
		}
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"done"}})
		if late := s.post(t, page, "same-origin", wrong); late.location != page+"&step=onward" {
			t.Errorf("an old answer after the end gives %d: %s", late.status, late.body)
		}
	})
}

// counting is a bank that no answer reaches. It counts the attempts.
type counting struct {
	broken
	calls *int
}

func (c counting) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	*c.calls++
	return c.broken.Answer(ctx, o, a)
}

func TestAnUnsentAnswerSentTwice(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		calls := 0
		s.offer(t, counting{broken{s.simulated.Connectors()[0].(connector.Responder), connector.ErrNotSent}, &calls})
		_, page := s.ordered(t, "otp_sms", nil)
		form := answering(t, s.get(t, page).body, field("openapisms", "1234"))
		var got answer
		for range 2 {
			got = s.post(t, page, "same-origin", form)
			if !strings.Contains(got.body, "could not be reached") || strings.Contains(got.body, "did not accept") {
				t.Errorf("answered %d: %s", got.status, got.body)
			}
		}
		s.post(t, page, "same-origin", answering(t, got.body, form))
		if calls != 2 {
			t.Errorf("the service called the bank %d times, want 2", calls)
		}
	})
}

// TestAnAnswerWithUnknownOutcomeSentTwice: the response to an answer is lost, and the bank's status
// asks for the same fields. The page must not say that the bank refused the answer, because the bank
// may not have received it.
func TestAnAnswerWithUnknownOutcomeSentTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		s.offer(t, broken{s.simulated.Connectors()[0].(connector.Responder), errors.New("no answer came")})
		_, page := s.ordered(t, "otp_sms", nil)
		form := answering(t, s.get(t, page).body, field("openapisms", "1234"))
		for _, want := range []string{"Waiting for your bank", "Code received by SMS"} {
			if got := s.post(t, page, "same-origin", form); got.location != page+"&step=onward" {
				t.Errorf("answered %d: %s", got.status, got.body)
			}
			if got := s.get(t, page); !strings.Contains(got.body, want) || strings.Contains(got.body, "did not accept") {
				t.Errorf("the page lacks %q: %s", want, got.body)
			}
			storetest.Break(t, url, `UPDATE attempt SET lease_until = 0`)
			_, err := s.RunDue(t.Context(), s.domain)
			must(t, err)
		}
	})
}

// once is a bank that only the first answer reaches.
type once struct {
	broken
	calls *int
}

func (o once) Answer(ctx context.Context, order connector.Order, a connector.Answer) (payment.Report, error) {
	if *o.calls++; *o.calls > 1 {
		return o.broken.Answer(ctx, order, a)
	}
	return o.Responder.Answer(ctx, order, a)
}

// lateBody is the body of a form. Before the server receives it, another tab acts.
type lateBody struct {
	io.Reader
	before func()
}

func (b lateBody) Read(p []byte) (int, error) {
	b.before()
	return b.Reader.Read(p)
}

// TestAQuestionAndItsNumber: another tab answers the bank's question while the service handles a
// form. A page must not show the earlier question with the number of the later question.
func TestAQuestionAndItsNumber(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		calls := 0
		s.offer(t, once{broken{s.simulated.Connectors()[0].(connector.Responder), connector.ErrNotSent}, &calls})
		_, page := s.ordered(t, "", labelled("actn(fields)/actn(psu)/done"))
		form := url.Values{"step": {"psu"}, "word": {"yes"}, "csrf": {s.token(t, page)}}
		body := lateBody{strings.NewReader(form.Encode()), sync.OnceFunc(func() {
			s.post(t, page, "same-origin", url.Values{"step": {"fields"}, "field.code": {"1234"}, "field.device": {"phone"}})
		})}
		s.browser.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.absolute(page), body)
		must(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		request.Header.Set("Expect", "100-continue") // the client waits until the server reads the body
		got := s.do(t, request)
		if calls != 2 || !strings.Contains(got.body, "could not be reached") || !strings.Contains(got.body, `value="psu"`) || strings.Contains(got.body, `value="fields"`) {
			t.Errorf("after %d calls, the page is %s", calls, got.body)
		}
	})
}

// The time for an approval in the bank's app begins with the bank's request, and not with the order.
func TestAnApprovalAfterAnotherQuestion(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		_, page := s.ordered(t, "", labelled("actn(fields)/actn(decoupled,3)/done"))
		s.advance(t, 10*time.Minute)
		s.play(t, page, []move{{"Code on your card", url.Values{"step": {"fields"}, "field.code": {"1234"}, "field.device": {"phone"}}}})
		if body := s.get(t, page).body; secondsLeft(body) < 14*60 || strings.Contains(body, "longer than usual") {
			t.Errorf("the page counts from the order: %s", body)
		}
		must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error {
			tx.SetClock(s.domain.ID, passerelle.Clock{Offset: 10 * time.Minute}, passerelle.Clock{Offset: 12 * time.Minute})
			return nil
		}))
		s.post(t, page, "same-origin", resume)
		if body := s.get(t, page).body; secondsLeft(body) > 14*60 || !strings.Contains(body, "longer than usual") {
			t.Errorf("the page counts from the last form: %s", body)
		}
	})
}

// A browser can send the payer's decision twice.
func TestADecisionSentTwice(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p, page := s.ordered(t, "", labelled("actn(psu)/actn(psu)/done"))
		for range 2 {
			form := answering(t, s.get(t, page).body, url.Values{"step": {"psu"}, "word": {"yes"}})
			for range 2 {
				if got := s.post(t, page, "same-origin", form); got.location != page+"&step=onward" {
					t.Errorf("answered %d: %s", got.status, got.body)
				}
			}
		}
		checkBack(t, s.get(t, page), "/back", p.ID, url.Values{"payment_state": {"done"}})
	})
}
