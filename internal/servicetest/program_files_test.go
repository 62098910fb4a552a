package servicetest_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/remote"
	files "passerelle/connector/statements"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

// billing is a connector program of a provider with bills. fetch is called for each file.
type billing struct {
	files.Connector
	uuid  string
	mu    sync.Mutex
	bills int
	fetch func(document string)
}

func (b *billing) Profile() connector.Profile {
	described := b.Connector.Profile()
	data := *described.Data
	data.TakesFiles, data.Capabilities, data.Documents = false, []string{"document"}, []string{"bill"}
	described.UUID, described.Name, described.Data = b.uuid, "Bills "+b.uuid[:4], &data
	return described
}

func (b *billing) Read(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := out.Subscriptions([]passerelle.SubscriptionDetails{{Key: "s", Label: "Power"}}); err != nil || !out.SubscriptionWanted("s") {
		return connector.Outcome{}, err
	}
	var bills []passerelle.DocumentDetails
	for n := range b.bills {
		bills = append(bills, passerelle.DocumentDetails{Key: fmt.Sprint(n), Type: "bill", Name: "Bill", HasFile: true, MediaType: "text/plain"})
	}
	if err := out.Documents("s", bills); err != nil {
		return connector.Outcome{}, err
	}
	return connector.Outcome{}, out.SubscriptionRead("s")
}

func (b *billing) File(_ context.Context, _ connector.DataRequest, of connector.FileName, to io.Writer) (string, error) {
	b.fetch(of.Document)
	_, err := io.WriteString(to, "a bill")
	return "text/plain", err
}

// TestASlowProgramDelaysOnlyItsOwnFiles: the service fetches new files of a connector program while
// another program does not respond.
func TestASlowProgramDelaysOnlyItsOwnFiles(t *testing.T) {
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{})
	p := newPerson(t, s)
	asked, answer, fetched := make(chan struct{}, 10), make(chan struct{}), make(chan string, 10)
	slow := &billing{uuid: "5a0d1c9e-0000-4000-8000-0000000000ab", bills: 1, fetch: func(string) { asked <- struct{}{}; <-answer }}
	quick := &billing{uuid: "9b0d1c9e-0000-4000-8000-0000000000ab", bills: 1, fetch: func(document string) { fetched <- document }}
	paths := map[*billing]string{}
	for _, b := range []*billing{slow, quick} {
		handler := must(remote.Handler(b, servicetest.ConnectorSecret))
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		must(service.Programs(s.DB).Add(t.Context(), server.URL, servicetest.ConnectorSecret))
		s.ReloadBanks(t.Context())
		var connection struct{ ID int64 }
		p.JSON(p.OK(p.Call("POST", "/users/me/connections", p.token, map[string]any{"connector_uuid": b.uuid})), &connection)
		paths[b] = fmt.Sprint("/users/me/connections/", connection.ID)
		var listed struct{ Subscriptions []struct{ ID int64 } }
		p.JSON(p.OK(p.Call("GET", paths[b]+"/subscriptions?all", p.token, nil)), &listed)
		for _, one := range listed.Subscriptions {
			p.OK(p.Call("POST", fmt.Sprintf("/users/me/subscriptions/%d?all", one.ID), p.token, map[string]any{"disabled": false}))
		}
		p.OK(p.Call("PUT", paths[b], p.token, nil))
	}
	t.Cleanup(sync.OnceFunc(func() { close(answer) }))
	happens := func(what string, event <-chan struct{}) {
		t.Helper()
		select {
		case <-event:
		case <-time.After(waitLimit):
			t.Fatalf("in vain, the test waits until %s", what)
		}
	}
	happens("the service fetches the file of the slow program", asked)
	quick.mu.Lock()
	quick.bills++
	quick.mu.Unlock()
	p.OK(p.Call("PUT", paths[quick], p.token, nil))
	both := make(chan struct{})
	go func() {
		defer close(both)
		for <-fetched != "1" {
		}
	}()
	happens("the service fetches the new file of the other program", both)
}
