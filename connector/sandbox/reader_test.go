package sandbox_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
)

func TestReadersConform(t *testing.T) {
	for _, source := range []string{"directaccess", "openapi"} {
		t.Run(source, func(t *testing.T) {
			connectortest.RunReader(t, func(t *testing.T) connectortest.Customer { return customer(t, source) })
		})
	}
}

func customer(t *testing.T, source string) connectortest.Customer {
	t.Helper()
	bank := newBank(sandbox.NewMemoryLedger(), sandbox.CI)
	values := map[string]string{"login": "jeanne", "password": customers.Password}
	comesBack := func(query func(connector.DataRequest) url.Values) func(context.Context, connector.Outcome, *connector.DataRequest) error {
		return func(_ context.Context, _ connector.Outcome, next *connector.DataRequest) error {
			next.Callback = query(*next)
			return nil
		}
	}
	c := connectortest.Customer{
		Reader: initiator(t, bank, sandbox.TestConnector).(connector.DataReader),
		Request: func() connector.DataRequest {
			return connector.DataRequest{Domain: 1, Connection: 7, Source: source, Values: values, Present: true, ReturnURL: returnURL, Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
		},
		Agree: comesBack(func(of connector.DataRequest) url.Values {
			return url.Values{"code": {bank.AccessCode(of.Domain, of.Connection)}, "login": {"jeanne"}}
		}),
	}
	if source == "openapi" {
		c.Refuse = comesBack(func(connector.DataRequest) url.Values { return url.Values{"error": {"access_denied"}} })
	}
	return c
}
