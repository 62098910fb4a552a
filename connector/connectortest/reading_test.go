package connectortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
)

type scripted struct {
	profile connector.Profile
	read    func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error)
}

func (s scripted) Profile() connector.Profile { return s.profile }

func (s scripted) Read(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	return s.read(ctx, r, out)
}

// honest reads two accounts once the user has agreed. It keeps every rule.
func honest(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return connector.Outcome{}, err
	}
	if r.Callback.Get("agreed") != "yes" && string(r.Memory) != "agreed" {
		return connector.Outcome{State: passerelle.WebauthRequired, URL: "https://bank.example"}, nil
	}
	return connector.Outcome{Memory: []byte("agreed")}, hand(out, func(account string) string { return account + "-1" }, false)
}

// hand passes two accounts to the sink, with one transaction for each wanted account. If the
// argument all is true, it also passes on the transactions of unwanted accounts.
func hand(out connector.Sink, key func(account string) string, all bool) error {
	accounts := []passerelle.AccountDetails{{Key: "a", Currency: "EUR"}, {Key: "b", Currency: "EUR"}}
	if err := out.Accounts(accounts); err != nil {
		return err
	}
	for _, a := range accounts {
		if _, wanted := out.Wanted(a.Key); !wanted && !all {
			continue
		}
		day := passerelle.DateOf(time.Now(), time.UTC)
		err := out.Transactions(a.Key, []passerelle.TransactionDetails{{Key: key(a.Key), Date: day, Value: decimal.One}})
		if err = errors.Join(err, out.AccountRead(a.Key, day)); err != nil {
			return err
		}
	}
	return nil
}

func readProfile() connector.Profile {
	return connector.Profile{
		Name: "Bank", Sources: []connector.Source{{Name: "openapi", Mechanisms: []passerelle.AuthMechanism{passerelle.ByWebauth}}},
		Data: &connector.DataSettings{Capabilities: []string{"bank"}},
	}
}

func customerOf(reader scripted) Customer {
	callback := func(answer string) func(context.Context, connector.Outcome, *connector.DataRequest) error {
		return func(_ context.Context, _ connector.Outcome, next *connector.DataRequest) error {
			next.Callback = map[string][]string{"agreed": {answer}}
			return nil
		}
	}
	return Customer{
		Reader: reader, Agree: callback("yes"), Refuse: callback("no"),
		Request: func() connector.DataRequest { return connector.DataRequest{Source: "openapi", Present: true} },
	}
}

func TestReadersThatKeepEveryRule(t *testing.T) {
	RunReader(t, func(*testing.T) Customer { return customerOf(scripted{readProfile(), honest}) })
}

func TestReadersThatBreakARule(t *testing.T) {
	agreed := func(r connector.DataRequest) bool {
		return r.Callback.Get("agreed") == "yes" || string(r.Memory) == "agreed"
	}
	var number atomic.Int64
	for rule, test := range map[string]struct {
		profile func(*connector.Profile)
		read    func(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error)
	}{
		"the profile says what is read": {profile: func(p *connector.Profile) { p.Data.Capabilities = nil }},
		"whoever agrees is read": {read: func(_ context.Context, r connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			if !agreed(r) {
				return connector.Outcome{State: passerelle.WebauthRequired, URL: "https://bank.example"}, nil
			}
			return connector.Outcome{}, nil
		}},
		"whoever refuses is not read": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if r.Callback != nil {
				return connector.Outcome{}, hand(out, strings.ToUpper, false)
			}
			return honest(ctx, r, out)
		}},
		"only what is wanted is read": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if !agreed(r) {
				return honest(ctx, r, out)
			}
			return connector.Outcome{}, hand(out, strings.ToUpper, true)
		}},
		"keys stay the same": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if !agreed(r) {
				return honest(ctx, r, out)
			}
			return connector.Outcome{Memory: []byte("agreed")}, hand(out, func(string) string { return fmt.Sprint(number.Add(1)) }, false)
		}},
		"the failure of the sink comes back": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			o, err := honest(ctx, r, out)
			if errors.Is(err, errFull) {
				return connector.Outcome{State: passerelle.WebsiteUnavailable}, nil
			}
			return o, err
		}},
		"an unreadable memory is ignored": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if len(r.Memory) > 0 && !agreed(r) {
				return connector.Outcome{}, errors.New("what is this")
			}
			return honest(ctx, r, out)
		}},
		"the person is away at first": {read: func(ctx context.Context, r connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if !r.Present {
				return connector.Outcome{State: passerelle.Bug}, nil
			}
			return honest(ctx, r, out)
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			reader := scripted{readProfile(), honest}
			if test.read != nil {
				reader.read = test.read
			}
			if test.profile != nil {
				test.profile(&reader.profile)
			}
			for _, r := range readingRules {
				if r.name == rule && r.check(t.Context(), customerOf(reader)) == nil {
					t.Error("the suite does not see it")
				}
			}
		})
	}
}
