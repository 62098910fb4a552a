package servicetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func called(t *testing.T, p *servicetest.Process, method, path, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+p.Address()+"/2.0"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestWhatIsChangedHoldsOnEveryReplica revokes tokens and changes settings at one of two processes,
// and closes the API by a command. The next request to either process must see the new state. The
// test repeats this, because a stale cache can give the right response by chance.
func TestWhatIsChangedHoldsOnEveryReplica(t *testing.T) {
	t.Parallel()
	p := servicetest.StartProcess(t, storetest.Postgres(t))
	both := []*servicetest.Process{p, p.Replica()}
	expect := func(want int, method, path, token, body string) {
		t.Helper()
		for _, at := range both {
			if got, text := called(t, at, method, path, token, body); got != want {
				t.Errorf("%s %s: %d %s, want %d", method, path, got, text, want)
			}
		}
	}
	draft, err := json.Marshal(servicetest.Draft())
	if err != nil {
		t.Fatal(err)
	}
	credentials := fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"scope":"payments:admin"}`, p.ClientID, p.ClientSecret)
	for n := range amount("PASSERELLE_TEST_CHANGES", 5) {
		changes, other := both[n%2], both[1-n%2]
		var out struct{ Token string }
		_, text := called(t, changes, "POST", "/auth/token", "", credentials)
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		expect(http.StatusOK, "POST", "/payments", out.Token, string(draft))
		called(t, changes, "POST", "/config", p.ConfigToken, `{"payment.max_amount":"1"}`)
		expect(http.StatusBadRequest, "POST", "/payments", out.Token, string(draft))
		called(t, other, "POST", "/config", p.ConfigToken, `{"payment.max_amount":"0"}`)
		expect(http.StatusOK, "POST", "/payments", out.Token, string(draft))
		p.Command("maintenance", "on", "--database", p.Database())
		expect(http.StatusServiceUnavailable, "GET", "/payments", out.Token, "")
		p.Command("maintenance", "off", "--database", p.Database())
		expect(http.StatusOK, "GET", "/payments", out.Token, "")
		called(t, changes, "DELETE", "/auth/token", out.Token, "")
		expect(http.StatusUnauthorized, "GET", "/payments", out.Token, "")
	}
}
