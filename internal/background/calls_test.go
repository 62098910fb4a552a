package background_test

import (
	"context"
	"testing"
	"testing/synctest"

	"passerelle/internal/background"
)

type clientKey struct{}

// TestCallsOutlastTheirClients checks that work continues when its client leaves. Stop must cancel
// the work and wait for it. Later work must get a cancelled context.
func TestCallsOutlastTheirClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls background.Calls
		client, leave := context.WithCancel(context.WithValue(t.Context(), clientKey{}, "anna"))
		work, end := calls.Outlast(client)
		short, ended := calls.Outlast(client)
		ended()
		ended()
		leave()
		if work.Err() != nil || short.Err() == nil || work.Value(clientKey{}) != "anna" {
			t.Errorf("after its client left: %v; after its end: %v", work.Err(), short.Err())
		}
		stopped := false
		go func() { calls.Stop(); stopped = true }()
		<-work.Done()
		if synctest.Wait(); stopped {
			t.Error("Stop does not wait for work")
		}
		end()
		if synctest.Wait(); !stopped {
			t.Error("Stop waits for ended work")
		}
		late, end := calls.Outlast(t.Context())
		defer end()
		if late.Err() == nil {
			t.Error("work begins after the stop")
		}
	})
}
