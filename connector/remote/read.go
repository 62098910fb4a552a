package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"passerelle/connector"
)

// sinkError wraps an error of the sink. Such an error says nothing about the program.
type sinkError struct{ error }

func (s *sinkError) Unwrap() error { return s.error }

func taken(err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{err}
}

// Read lists the accounts and then requests only the wanted ones. The program therefore reads no
// account that the user does not share.
func (r reader) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	var listed accountsAnswer
	if err := r.call(ctx, callAccounts, dataCall{Deadline: r.deadline(ctx), Request: req}, &listed); err != nil {
		return connector.Outcome{}, err
	}
	first := listed.Outcome
	if err := checkOutcome(first); err != nil {
		return connector.Outcome{}, r.fault(callAccounts, err, err.Error())
	}
	if listed.Error != nil || first.State != "" {
		return first, listed.Error.err()
	}
	next := dataCall{Deadline: r.streamDeadline(ctx), Request: req}
	next.Request.Answers, next.Request.Callback, next.Request.Resumed = nil, nil, false
	if first.Memory != nil {
		next.Request.Memory = first.Memory
	}
	if err := next.choose(listed, out); err != nil {
		return first, err
	}
	if len(next.Accounts)+len(next.Subscriptions) == 0 {
		return first, nil
	}
	last, err := r.stream(ctx, callRead, next, func(one record) error { return one.pass(out) })
	if err == nil {
		err = checkOutcome(last.Outcome)
	}
	if err != nil {
		return connector.Outcome{Memory: first.Memory, ConsentUntil: first.ConsentUntil}, err
	}
	return merge(first, last.Outcome), last.Error.err()
}

// choose passes the listed accounts and subscriptions to the sink, and records which of them the
// sink wants.
func (c *dataCall) choose(listed accountsAnswer, out connector.Sink) error {
	if listed.Accounts != nil {
		if err := out.Accounts(listed.Accounts); err != nil {
			return err
		}
	}
	if listed.Subscriptions != nil {
		if err := out.Subscriptions(listed.Subscriptions); err != nil {
			return err
		}
	}
	for _, a := range listed.Accounts {
		if from, wanted := out.Wanted(a.Key); wanted {
			c.Accounts = append(c.Accounts, wantedAccount{a.Key, from})
		}
	}
	for _, s := range listed.Subscriptions {
		if out.SubscriptionWanted(s.Key) {
			c.Subscriptions = append(c.Subscriptions, s.Key)
		}
	}
	return nil
}

// pass passes a record to the sink. The sink checks the order of records.
func (one record) pass(out connector.Sink) error {
	var err error
	if len(one.Transactions) > 0 {
		err = out.Transactions(one.Account, one.Transactions)
	}
	if err == nil && one.Assets != nil {
		err = out.Assets(one.Account, *one.Assets)
	}
	if err == nil && len(one.Documents) > 0 {
		err = out.Documents(one.Subscription, one.Documents)
	}
	switch {
	case err != nil || !one.Read:
		return err
	case one.Account != "":
		return out.AccountRead(one.Account, one.From)
	}
	return out.SubscriptionRead(one.Subscription)
}

// checkOutcome fails for an outcome that could harm the user: an unknown state, or an address that
// a browser could execute.
func checkOutcome(o connector.Outcome) error {
	if !o.State.Known() {
		return fmt.Errorf("%w: the state is not a known one", errMalformed)
	}
	if o.URL != "" && !strings.HasPrefix(o.URL, "https://") && !strings.HasPrefix(o.URL, "http://") {
		return fmt.Errorf("%w: the url is not an http(s) URL", errMalformed)
	}
	return nil
}

// File streams a file.
func (r reader) File(ctx context.Context, req connector.DataRequest, of connector.FileName, w io.Writer) (string, error) {
	if !r.described.Files {
		return "", errors.New("the program has no files")
	}
	last, err := r.stream(ctx, callFile, dataCall{Deadline: r.streamDeadline(ctx), Request: req, File: &of}, func(one record) error {
		_, err := w.Write(one.Data)
		return err
	})
	if err != nil {
		return "", err
	}
	return last.MediaType, last.Error.err()
}

// Terminate ends a consent. It calls the program only if the program has the call "terminate".
func (r reader) Terminate(ctx context.Context, req connector.DataRequest) error {
	if !r.described.Terminates {
		return nil
	}
	var got accountsAnswer
	if err := r.call(ctx, callTerminate, dataCall{Deadline: r.deadline(ctx), Request: req}, &got); err != nil {
		return err
	}
	return got.Error.err()
}

// stream makes a call whose response is a stream, and passes the records on as they arrive. A slow
// consumer therefore slows the program down. stream verifies the signature and returns the end
// record.
func (p *Program) stream(ctx context.Context, name string, body any, pass func(record) error) (end, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var last end
	err := p.measured(ctx, name, func() error {
		timer := time.AfterFunc(silence, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
		response, nonce, err := p.send(ctx, name, body)
		if err != nil {
			return cause(ctx, err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return statusError(response)
		}
		body := &paced{ctx: ctx, from: response.Body, allowed: p.streamLimiter}
		lines := lines{from: bufio.NewReaderSize(io.LimitReader(body, maxStream), 64<<10), sum: p.secret.answerMAC(http.StatusOK, nonce)}
		begun, taking := p.now(), time.Duration(0) // taking is the time that the sink needs
		last, err = lines.read(p, func(one record) error {
			timer.Stop()
			defer timer.Reset(silence)
			received := p.now()
			if received.Sub(begun)-taking-body.waited > streamTime+time.Duration(lines.bytes/slowest)*time.Second {
				return errSlow
			}
			defer func() { taking += p.now().Sub(received) }()
			return taken(pass(one))
		})
		return cause(ctx, err)
	})
	var sink *sinkError
	if errors.As(err, &sink) {
		return end{}, sink.error
	}
	return last, err
}

// paced reads a body no faster than the limiter permits. TCP then slows the sender down to that
// rate.
type paced struct {
	ctx     context.Context //nolint:containedctx // a body belongs to one call
	from    io.Reader
	allowed *rate.Limiter
	// waited is the time that reads have waited for the rate. This time does not count as the
	// program's time.
	waited time.Duration
}

func (p *paced) Read(into []byte) (int, error) {
	n, err := p.from.Read(into)
	begun := time.Now()
	defer func() { p.waited += time.Since(begun) }()
	if late := p.allowed.WaitN(p.ctx, n); late != nil {
		return n, late
	}
	return n, err
}

// cause joins the error of a call with the reason why the context of the call ended.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil {
		return errors.Join(why, err)
	}
	return err
}

// lines reads the lines of a stream.
type lines struct {
	from  *bufio.Reader
	sum   hash.Hash
	bytes int
	whole []byte // the last line that next() returned
}

// read reads to the end of the stream.
func (l *lines) read(p *Program, pass func(record) error) (end, error) {
	for {
		line, err := l.next()
		if err != nil {
			return end{}, err
		}
		l.sum.Write(line)
		l.bytes += len(line)
		var one record
		if err := decode(line, &one, p.how); err != nil {
			return end{}, err
		}
		if one.End != nil {
			return *one.End, l.verify()
		}
		if err := pass(one); err != nil {
			return end{}, err
		}
	}
}

// next reads a line of at most maxLine bytes, including its line feed. The line is valid until the
// next call.
func (l *lines) next() ([]byte, error) {
	l.whole = l.whole[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if l.whole = append(l.whole, part...); len(l.whole) > maxLine {
			return nil, errLarge
		}
		switch {
		case err == nil:
			return l.whole, nil
		case errors.Is(err, io.EOF):
			return nil, errCut
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// signature is the last line of a stream.
type signature struct{ Signature string }

func (l *lines) verify() error {
	line, err := l.next()
	if err != nil {
		return err
	}
	var last signature
	if err := decode(line, &last, strict); err != nil {
		return err
	}
	if !equal(l.sum, last.Signature) {
		return errUnsigned
	}
	return nil
}
