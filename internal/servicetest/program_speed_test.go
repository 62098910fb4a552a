package servicetest_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

// outside is a simulated bank that the service reads through the connector protocol (package
// remote).
type outside struct{ connector.DataReader }

func (o outside) Profile() connector.Profile {
	p := o.DataReader.Profile()
	p.UUID, p.Payments, p.PaymentFields = "7c0a3a52-6b6e-4b3d-9f0e-5b8e1d7c9a01", nil, nil
	return p
}

func newOutside(t *testing.T) string {
	t.Helper()
	bank := &sandbox.Bank{
		Ledger: sandbox.NewMemoryLedger(), Timing: sandbox.CI, Log: slog.New(slog.DiscardHandler),
		MAC: func(purpose string, data []byte) []byte {
			sum := sha256.Sum256(append([]byte(purpose), data...))
			return sum[:]
		},
		Base: func(passerelle.DomainID) string { return "http://bank.test" },
	}
	for _, c := range bank.Connectors() {
		if reader, able := c.(connector.DataReader); able && c.Profile().UUID == testConnector {
			h, err := remote.Handler(outside{reader}, servicetest.ConnectorSecret)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL
		}
	}
	t.Fatal("there is no test connector")
	return ""
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestSpeedOfPrograms: a sync through the protocol costs at most twice the processor time of a sync
// inside the service, although this process runs both the service and the program.
func TestSpeedOfPrograms(t *testing.T) {
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{})
	row, err := service.Programs(s.DB).Add(t.Context(), newOutside(t), servicetest.ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	sync := func(uuid string) time.Duration {
		p := newPerson(t, s)
		var connection struct{ ID int64 }
		p.JSON(p.OK(p.Call("POST", "/users/me/connections", p.token, map[string]any{
			"connector_uuid": uuid, "source": "directaccess", "login": "big", "password": customers.Password,
		})), &connection)
		p.OK(p.Call("PUT", "/users/me/accounts?all", p.token, map[string]any{"disabled": false}))
		begun := processorTime(t)
		p.OK(p.Call("PUT", fmt.Sprint("/users/me/connections/", connection.ID), p.token, nil))
		took := processorTime(t) - begun
		var listed struct{ Total int }
		if p.JSON(p.OK(p.Call("GET", "/users/me/transactions?limit=1", p.token, nil)), &listed); listed.Total < 50_000 {
			t.Fatalf("%d transactions were read", listed.Total)
		}
		return took
	}
	inside, through := sync(testConnector), sync(row.UUID)
	t.Logf("inside %s, through the protocol %s: %.2f", inside, through, float64(inside)/float64(through))
	if through > 2*inside {
		t.Errorf("inside it takes %s of processor time, through the protocol %s", inside, through)
	}
}
