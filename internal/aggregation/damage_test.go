package aggregation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestDamagedSecretsAskTheUser checks that a connection with damaged credentials or a damaged memory
// asks its user to sign in again, and that the connection is then read.
func TestDamagedSecretsAskTheUser(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		var calls []string
		s.read = func(_ context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			calls = append(calls, fmt.Sprintf("%s %q", req.Values["login"], req.Memory))
			return connector.Outcome{Memory: []byte("token")}, nil
		}
		c, err := h.connect("anna", "1234")
		must(t, err)
		other, err := h.connect("berta", "1234")
		must(t, err)
		damage := func(column string) {
			t.Helper()
			storetest.Break(t, h.url, fmt.Sprintf(`UPDATE connection SET %[1]s = (SELECT x.%[1]s FROM connection x WHERE x.id = %[2]d) WHERE id = %[3]d`, column, other.ID, c.ID))
			h.events()
			calls = nil
		}
		expect := func(when string, want passerelle.ConnectionState, read ...string) {
			t.Helper()
			if got := h.loaded(c.ID); got.State != want || want == passerelle.Wrongpass && got.Fields == "" {
				t.Errorf("%s, the connection is %q with the fields %q, want %q", when, got.State, got.Fields, want)
			}
			if diff := cmp.Diff(read, calls); diff != "" {
				t.Errorf("%s, the connector got (-want +got):\n%s", when, diff)
			}
		}
		damage("credentials")
		if state, err := h.resume(c.ID); err != nil || state != passerelle.Wrongpass {
			t.Errorf("without credentials: %q, %v", state, err)
		}
		expect("without credentials", passerelle.Wrongpass)
		if got := names(h.events()); got != onlySynced {
			t.Errorf("events %s", got)
		}
		_, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Values: map[string]string{"login": "clara", "password": "1234"}})
		must(t, err)
		expect("with new credentials", "", `clara "token"`)

		damage("memory")
		h.now = h.now.Add(25 * time.Hour)
		h.sync()
		expect("without memory and user", passerelle.SCARequired, `berta "token"`)
		calls = nil
		_, err = h.resume(c.ID)
		must(t, err)
		expect("with the user", "", `clara ""`)
	})
}

// otherKeys opens the database with other keys.
func (h *fixture) otherKeys() *store.DB {
	h.t.Helper()
	db, err := store.Open(h.t.Context(), h.url, store.Options{Keys: keys.Generate()})
	must(h.t, err)
	h.t.Cleanup(func() { db.Close() })
	return db
}

// TestAMissingKeyIsNoDamage checks that a process without the key of a connection's secrets changes
// nothing, because another process has the key.
func TestAMissingKeyIsNoDamage(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, _ *hostileConnector) {
		c, err := h.connect("anna", "1234")
		must(t, err)
		h.events()
		keyless := h.otherProcess()
		keyless.DB = h.otherKeys()
		if _, err := keyless.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{}); err == nil {
			t.Error("the process without the key reads the connection")
		}
		if got := h.loaded(c.ID); got.State != "" || len(h.events()) > 0 {
			t.Errorf("the connection is %q afterwards", got.State)
		}
		if state, err := h.resume(c.ID); err != nil || state != "" {
			t.Errorf("the process with the key: %q, %v", state, err)
		}
	})
}

// fieldsConnector is a connector with other fields.
type fieldsConnector struct {
	*hostileConnector
	fields []connector.Field
}

func (c fieldsConnector) Profile() connector.Profile {
	p := c.hostileConnector.Profile()
	p.Data.Fields = c.fields
	return p
}

// TestASuccessfulReadReplacesDamagedSecrets checks that damaged secrets are readable again after a
// read that needed neither of them, even if the connector returned no memory. A memory that the
// connector stored during the read must stay.
func TestASuccessfulReadReplacesDamagedSecrets(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		registry, err := connector.NewRegistry(fieldsConnector{s, []connector.Field{{Name: "login", Label: "Login", Type: "text"}, {Name: "password", Label: "Password", Type: "password"}}})
		must(t, err)
		h.Connectors = registry
		for _, saved := range []string{"", "new token"} {
			s.read = ending(connector.Outcome{Memory: []byte("token")})
			c, err := h.connect("anna", "1234")
			must(t, err)
			storetest.Break(t, h.url, fmt.Sprintf(`UPDATE connection SET credentials = memory, memory = credentials WHERE id = %d`, c.ID))
			s.read = func(ctx context.Context, req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
				if saved != "" {
					req.Save(ctx, []byte(saved))
				}
				return connector.Outcome{}, nil
			}
			if state, err := h.resume(c.ID); err != nil || state != "" {
				t.Fatalf("with the user: %q, %v", state, err)
			}
			values, memory, err := bankstore.From(h.DB).ConnectionSecrets(t.Context(), h.domain.ID, c.ID)
			if err != nil || len(values) != 0 || string(memory) != saved {
				t.Errorf("after the read, the values are %v and the memory %q (%v), want none and %q", values, memory, err, saved)
			}
		}
	})
}

// TestDamagedValuesOfAMechanism checks that a connection through a page of the institution asks only
// for the fields of this mechanism when its values are damaged, and that these values suffice.
func TestDamagedValuesOfAMechanism(t *testing.T) {
	amongStrangers(t, func(t *testing.T, h *fixture, s *hostileConnector) {
		s.read = ending(connector.Outcome{Memory: []byte("token")})
		registry, err := connector.NewRegistry(fieldsConnector{s, []connector.Field{
			{Name: "branch", Label: "Branch", Type: "text", Required: true},
			{Name: "password", Label: "Password", Type: "password", Required: true, Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}},
		}})
		must(t, err)
		h.Connectors = registry
		branch := map[string]string{"branch": "12"}
		c, err := h.Connect(t.Context(), h.domain, h.user.ID, aggregation.Request{Connector: sandbox.TestConnector, Mechanism: passerelle.ByWebauth, Values: branch})
		must(t, err)
		storetest.Break(t, h.url, fmt.Sprintf(`UPDATE connection SET credentials = memory WHERE id = %d`, c.ID))
		if state, err := h.resume(c.ID); err != nil || state != passerelle.Wrongpass {
			t.Errorf("without values: %q, %v", state, err)
		}
		if asked, err := h.loaded(c.ID).Asked(); err != nil || !slices.Equal(asked, []string{"branch"}) {
			t.Errorf("the connection asks for %v (%v), want branch", asked, err)
		}
		c, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Values: branch})
		if err != nil || c.State != "" {
			t.Errorf("with the branch: %q, %v", c.State, err)
		}
	})
}
