package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
)

// A clock call advances at most this far, and gives up, saying so, when what
// it sets off does not come to rest in this many rounds.
const (
	maxAdvance = 400 * 24 * time.Hour
	maxRounds  = 1000
)

type clockOutput struct {
	Now    string `json:"now"`
	Frozen bool   `json:"frozen"`
}

type movedClockOutput struct {
	clockOutput
	ranOutput
}

type ranOutput struct {
	Fired     firedOutput `json:"fired"`
	Truncated bool        `json:"truncated" doc:"whether work was left when a bound was reached"`
}

type firedOutput struct {
	Payments   int `json:"payments" doc:"payments a bank was asked about, or that expired"`
	Syncs      int `json:"syncs" doc:"connections that were read"`
	Deliveries int `json:"deliveries" doc:"webhook requests sent"`
}

// sandbox refuses live domains, where nothing of a sandbox exists.
func sandbox(c *protocol.Caller) error {
	if c.Domain.Kind != passerelle.Sandbox {
		return passerelle.Missing()
	}
	return nil
}

func (s *Service) readClock(_ context.Context, c *protocol.Caller, _ protocol.Nothing) (clockOutput, error) {
	return shownClock(c), sandbox(c)
}

func shownClock(c *protocol.Caller) clockOutput {
	return clockOutput{Now: passerelle.FormatDateTime(c.Now, c.Location), Frozen: c.Domain.Clock.Frozen != nil}
}

type clockInput struct {
	Advance string `body:"advance" doc:"a duration like 15m, 36h or 2d" example:"15m"`
	Set     string `body:"set" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone"`
	Freeze  *bool  `body:"freeze" doc:"true stops the clock, false lets it run on"`
}

func (s *Service) setClock(ctx context.Context, c *protocol.Caller, in clockInput) (movedClockOutput, error) {
	if err := sandbox(c); err != nil {
		return movedClockOutput{}, err
	}
	real := s.Now()
	moved, err := in.apply(c, real)
	if err != nil {
		return movedClockOutput{}, err
	}
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		tx.SetClock(c.Domain.ID, c.Domain.Clock, moved)
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return movedClockOutput{}, passerelle.Conflicting("Another call moved the clock at the same moment; read it and try again.")
	}
	if err != nil {
		return movedClockOutput{}, fmt.Errorf("move the clock of domain %d: %w", c.Domain.ID, err)
	}
	c.Domain.Clock, c.Now = moved, moved.Now(real)
	ran, err := s.rest(ctx, c.Domain)
	return movedClockOutput{clockOutput: shownClock(c), ranOutput: ran}, err
}

// apply is the clock after the call, which asks for exactly one thing.
func (in clockInput) apply(c *protocol.Caller, real time.Time) (passerelle.Clock, error) {
	asked := 0
	for _, given := range []bool{in.Advance != "", in.Set != "", in.Freeze != nil} {
		if given {
			asked++
		}
	}
	switch {
	case asked == 0:
		return passerelle.Clock{}, passerelle.MissingField("advance", "give exactly one of advance, set and freeze")
	case asked > 1:
		return passerelle.Clock{}, passerelle.InvalidField("advance", "give exactly one of advance, set and freeze")
	case in.Freeze != nil:
		return frozen(c.Now, real, *in.Freeze), nil
	}
	to, err := in.target(c)
	if err != nil {
		return passerelle.Clock{}, err
	}
	return frozen(to, real, c.Domain.Clock.Frozen != nil), nil
}

// frozen is a clock that shows now, standing still or running on.
func frozen(now, real time.Time, still bool) passerelle.Clock {
	if still {
		return passerelle.Clock{Frozen: &now}
	}
	return passerelle.Clock{Offset: now.Sub(real)}
}

// target is the instant that advance or set asks for: never in the past, and
// not so far away that catching up would take for ever.
func (in clockInput) target(c *protocol.Caller) (time.Time, error) {
	field, to := "advance", c.Now
	if in.Set != "" {
		field = "set"
		instant, err := passerelle.ParseDateTime(field, in.Set, c.Location)
		if err != nil {
			return to, err
		}
		to = instant
	} else {
		length, err := passerelle.ParseDuration(field, in.Advance)
		if err != nil {
			return to, err
		}
		to = to.Add(length)
	}
	if to.Before(c.Now) {
		return to, passerelle.InvalidField(field, "the clock does not go backwards; it is %s", passerelle.FormatDateTime(c.Now, c.Location))
	}
	if to.Sub(c.Now) > maxAdvance {
		return to, passerelle.InvalidField(field, "at most 400d at a time")
	}
	return to, nil
}

func (s *Service) runSandbox(ctx context.Context, c *protocol.Caller, _ protocol.Nothing) (ranOutput, error) {
	if err := sandbox(c); err != nil {
		return ranOutput{}, err
	}
	return s.rest(ctx, c.Domain)
}

// rest does what is due in a sandbox domain until nothing is left: payments and
// syncs first, because they make the events that are then delivered.
func (s *Service) rest(ctx context.Context, d passerelle.Domain) (ranOutput, error) {
	var out ranOutput
	for range maxRounds {
		followed, err := s.Initiation.RunDue(ctx, d)
		if err != nil {
			return out, err
		}
		read, err := s.Aggregation.RunDue(ctx, d)
		if err != nil {
			return out, err
		}
		sent, err := s.Delivery.RunDue(ctx, d)
		if err != nil {
			return out, err
		}
		did := followed.Checked + followed.Recovered + followed.Expired
		out.Fired.Payments += did
		out.Fired.Syncs += read
		out.Fired.Deliveries += sent.Delivered + sent.Failed
		if did+read+sent.Delivered+sent.Failed == 0 {
			return out, s.Delivery.Purge(ctx, d)
		}
	}
	out.Truncated = true
	return out, nil
}

type receivedOutput struct {
	ID       int64           `json:"id"`
	Name     string          `json:"name" doc:"last segment of the path it came to"`
	Received string          `json:"received"`
	Headers  json.RawMessage `json:"headers"`
	Body     string          `json:"body" doc:"as it came"`
	Verdict  string          `json:"verdict" doc:"what came of checking the signature"`
}

type listReceivedOutput struct {
	Requests []receivedOutput `json:"requests"`
	Total    int              `json:"total"`
}

func (s *Service) received(ctx context.Context, c *protocol.Caller, _ protocol.Nothing) (listReceivedOutput, error) {
	if err := sandbox(c); err != nil {
		return listReceivedOutput{}, err
	}
	got, err := s.DB.ReceivedRequests(ctx, c.Domain.ID)
	out := listReceivedOutput{Requests: make([]receivedOutput, len(got)), Total: len(got)}
	for i, r := range got {
		out.Requests[i] = receivedOutput{
			ID: r.ID, Name: r.Name, Received: passerelle.FormatDateTime(r.At, c.Location),
			Headers: json.RawMessage(r.Headers), Body: string(r.Body), Verdict: r.Verdict,
		}
	}
	return out, err
}

func (s *Service) forgetReceived(ctx context.Context, c *protocol.Caller, _ protocol.Nothing) (protocol.Nothing, error) {
	if err := sandbox(c); err != nil {
		return protocol.Nothing{}, err
	}
	return protocol.Nothing{}, s.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ForgetReceived(c.Domain.ID)
		return nil
	})
}
