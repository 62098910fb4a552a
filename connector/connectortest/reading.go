package connectortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
)

// Customer is a reading connector under test, with a user who has not given consent yet.
type Customer struct {
	Reader connector.DataReader
	// Request makes a request with the values of the connector's fields, for a user who is present.
	// Several goroutines may call it at the same time.
	Request func() connector.DataRequest
	// Agree does the action that the user is asked for, and puts the result into the next request.
	// Refuse acts as a user who refuses.
	Agree, Refuse func(ctx context.Context, asked connector.Outcome, next *connector.DataRequest) error
}

var readingRules = []rule[Customer]{
	{"the profile says what is read", "a profile with data settings, a capability and a source whose fields accept the values of the test", coherentReading},
	{"whoever agrees is read", "after the person agreed, all accounts are listed once, each with a key, and each wanted account is read to its end; different transactions of an account have different keys", agreedIsRead},
	{"whoever refuses is not read", "a person who refuses is left in a state that they can end, and no account was listed", refusedIsNotRead},
	{"only what is wanted is read", "accounts that are not wanted are not read", onlyWantedIsRead},
	{"keys stay the same", "two reads have the same keys of accounts and transactions", keysStay},
	{"the failure of the sink comes back", "a read ends with the error of the sink that receives its data", sinkFailureComesBack},
	{"a cancelled read returns", "a cancelled read ends at once", cancelledReadReturns},
	{"an unreadable memory is ignored", "a memory that the connector cannot read counts as no memory", strangeMemory},
	{"the person is away at first", "without the person, a read succeeds or ends in a state that asks for the person; later, it works with the person", awayAtFirst},
	{"reads may coincide", "concurrent reads do not disturb each other", readsMayCoincide},
}

// collected is a sink that stores the data that it receives.
type collected struct {
	connector.Sink
	mu       sync.Mutex
	accounts []passerelle.AccountDetails
	listed   int
	rows     map[string]map[string]passerelle.TransactionDetails
	ended    map[string]int
	// only is the key of the wanted account, or empty if all accounts are wanted. first means that
	// only the first account in the list is wanted. Transactions, Assets and AccountRead return the
	// error in the field fails.
	only  string
	first bool
	fails error
	wrong error
}

func newCollected() *collected {
	return &collected{rows: map[string]map[string]passerelle.TransactionDetails{}, ended: map[string]int{}}
}

func (c *collected) Accounts(all []passerelle.AccountDetails) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts, c.listed = all, c.listed+1
	if c.first && len(all) > 0 {
		c.only = all[0].Key
	}
	seen := map[string]bool{}
	for _, a := range all {
		if a.Key == "" || seen[a.Key] || a.Currency != "" && !a.Currency.Known() {
			c.wrong = fmt.Errorf("an account has no key of its own, or the currency %q", a.Currency)
		}
		seen[a.Key] = true
	}
	return nil
}

func (c *collected) wants(account string) bool { return c.only == "" || c.only == account }

func (c *collected) Wanted(account string) (passerelle.Date, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return passerelle.Date{}, c.wants(account)
}

func (c *collected) Transactions(account string, page []passerelle.TransactionDetails) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed != 1 || !c.wants(account) || c.ended[account] > 0 {
		c.wrong = errors.New("transactions of an account that is not listed, not wanted or was ended")
	}
	if c.rows[account] == nil {
		c.rows[account] = map[string]passerelle.TransactionDetails{}
	}
	for _, d := range page {
		if d.Key == "" || d.Date.IsZero() {
			c.wrong = errors.New("a transaction has no key or no day")
		}
		if before, twice := c.rows[account][d.Key]; twice && !reflect.DeepEqual(before, d) {
			c.wrong = fmt.Errorf("two different transactions of an account have the key %q", d.Key)
		}
		c.rows[account][d.Key] = d
	}
	return c.fails
}

func (c *collected) Assets(string, passerelle.Assets) error { return c.fails }

func (c *collected) AccountRead(account string, _ passerelle.Date) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended[account]++; !c.wants(account) || c.ended[account] > 1 {
		c.wrong = errors.New("the end of an account that is not wanted or was ended")
	}
	return c.fails
}

func (c *collected) Subscriptions([]passerelle.SubscriptionDetails) error { return nil }
func (c *collected) SubscriptionWanted(string) bool                       { return false }

// maxSteps is the maximum number of steps that a read may request from a user.
const maxSteps = 12

// walk reads until the institution asks the user for nothing more, or the user has refused.
func (s Customer) walk(ctx context.Context, act func(context.Context, connector.Outcome, *connector.DataRequest) error, out *collected) (connector.Outcome, connector.DataRequest, error) {
	request, asked := s.Request(), false
	for range maxSteps {
		o, err := s.Reader.Read(ctx, request, out)
		if err = errors.Join(err, o.Check()); err != nil {
			return o, request, fmt.Errorf("a read: %w", err)
		}
		if o.Memory != nil {
			request.Memory = o.Memory
		}
		request.Answers, request.Callback, request.Resumed = nil, nil, false
		asks := o.URL != "" || len(o.Fields) > 0 || o.State == passerelle.Decoupled
		if !asks || asked && o.State == passerelle.WebauthRequired {
			return o, request, out.wrong
		}
		if err := act(ctx, o, &request); err != nil {
			return o, request, fmt.Errorf("the person in the state %s: %w", o.State, err)
		}
		asked = o.State == passerelle.WebauthRequired
	}
	return connector.Outcome{}, request, errors.New("the person is asked again and again")
}

// agreed reads as a user who agrees. It returns the request for the next read.
func (s Customer) agreed(ctx context.Context, out *collected) (connector.DataRequest, error) {
	o, request, err := s.walk(ctx, s.Agree, out)
	if err == nil && o.State != "" {
		err = fmt.Errorf("after the person agreed the state is %s: %s", o.State, o.Message)
	}
	return request, err
}

// coherentReading checks that the profile is correct, because clients show and request fields
// according to the profile.
func coherentReading(_ context.Context, s Customer) error {
	p := s.Reader.Profile()
	if p.Data == nil || len(p.Data.Capabilities) == 0 {
		return errors.New("there are no data settings, or no capability")
	}
	source, mechanism, err := p.Choose(s.Request().Source, "")
	if err != nil {
		return err
	}
	return connector.CheckValues(p.Data.Fields, mechanism, source.Name, s.Request().Values)
}

func agreedIsRead(ctx context.Context, s Customer) error {
	out := newCollected()
	if _, err := s.agreed(ctx, out); err != nil {
		return err
	}
	if out.listed != 1 || len(out.accounts) == 0 || len(out.ended) != len(out.accounts) {
		return fmt.Errorf("%d lists, %d accounts, %d read to their end", out.listed, len(out.accounts), len(out.ended))
	}
	return nil
}

var errAsksNothing = notApplicable("the person has nothing to refuse")

func refusedIsNotRead(ctx context.Context, s Customer) error {
	if s.Refuse == nil {
		return errAsksNothing
	}
	out, asked := newCollected(), false
	o, _, err := s.walk(ctx, func(ctx context.Context, o connector.Outcome, next *connector.DataRequest) error {
		asked = true
		return s.Refuse(ctx, o, next)
	}, out)
	if err == nil && !asked {
		return errAsksNothing
	}
	if err == nil && (o.State.Resolution() != passerelle.ByPerson || out.listed > 0) {
		err = fmt.Errorf("the state is %q, and %d accounts were read", o.State, len(out.accounts))
	}
	return err
}

func onlyWantedIsRead(ctx context.Context, s Customer) error {
	out := newCollected()
	out.first = true
	if _, err := s.agreed(ctx, out); err != nil {
		return err
	}
	if len(out.ended) != 1 {
		return fmt.Errorf("%d accounts were read, one is wanted", len(out.ended))
	}
	return nil
}

func keysStay(ctx context.Context, s Customer) error {
	before, after := newCollected(), newCollected()
	request, err := s.agreed(ctx, before)
	if err != nil {
		return err
	}
	if o, err := s.Reader.Read(ctx, request, after); err != nil || o.State != "" {
		return fmt.Errorf("a second read ends in %q, %w", o.State, err)
	}
	same := maps.EqualFunc(before.rows, after.rows, func(a, b map[string]passerelle.TransactionDetails) bool {
		return maps.EqualFunc(a, b, func(_, _ passerelle.TransactionDetails) bool { return true })
	})
	if !same || len(before.accounts) != len(after.accounts) {
		return errors.New("a second read has other keys than the first")
	}
	return after.wrong
}

var errFull = errors.New("the sink accepts no more")

// sinkFailureComesBack checks that the connector returns an error of the sink. The connector must
// not report this error as a failure of the bank.
func sinkFailureComesBack(ctx context.Context, s Customer) error {
	request, err := s.agreed(ctx, newCollected())
	if err != nil {
		return err
	}
	out := newCollected()
	out.fails = errFull
	_, err = s.Reader.Read(ctx, request, out)
	if err == nil {
		return errors.New("the read ended without the error of its sink, or sent no data")
	}
	if !errors.Is(err, errFull) {
		return fmt.Errorf("the sink failed, and the read ended with %w", err)
	}
	return nil
}

func cancelledReadReturns(ctx context.Context, s Customer) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_, _ = s.Reader.Read(ctx, s.Request(), newCollected())
	}()
	select {
	case <-returned:
		return nil
	case <-time.After(prompt):
		return errors.New("it does not end after its context was cancelled")
	}
}

// strangeMemory checks that the connector works without error when it cannot read its memory.
// Another version may have stored that memory.
func strangeMemory(ctx context.Context, s Customer) error {
	for _, memory := range []string{"", "{", "[1]", "\x00\xff"} {
		request := s.Request()
		request.Memory = []byte(memory)
		if o, err := s.Reader.Read(ctx, request, newCollected()); err != nil || !o.State.Known() {
			return fmt.Errorf("with the memory %q it ends in %q, %w", memory, o.State, err)
		}
	}
	return nil
}

// awayAtFirst checks a read without consent and without the user. The read must succeed or ask for
// the user. It must work once the user is present.
func awayAtFirst(ctx context.Context, s Customer) error {
	away := s.Request()
	away.Present, away.Device, away.ReturnURL = false, connector.Device{}, ""
	o, err := s.Reader.Read(ctx, away, newCollected())
	if err != nil || o.State != "" && o.State.Resolution() != passerelle.ByPerson {
		return fmt.Errorf("without the person it ends in %q, %w", o.State, err)
	}
	_, err = s.agreed(ctx, newCollected())
	return err
}

func readsMayCoincide(ctx context.Context, s Customer) error {
	request, err := s.agreed(ctx, newCollected())
	if err != nil {
		return err
	}
	errs := make([]error, 4)
	var reading sync.WaitGroup
	for i := range errs {
		reading.Go(func() {
			own, out := request, newCollected()
			own.Memory = slices.Clone(request.Memory)
			o, err := s.Reader.Read(ctx, own, out)
			if err == nil && o.State != "" {
				err = fmt.Errorf("it ends in %s", o.State)
			}
			errs[i] = errors.Join(err, out.wrong)
		})
	}
	reading.Wait()
	return errors.Join(errs...)
}
