package httpd_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"passerelle/internal/httpd"
)

func ask(handler http.Handler) (int, string) {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestHealth(t *testing.T) {
	answer := httptest.NewRecorder()
	httpd.Health("Passerelle/1.2.0").ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if answer.Code != 200 || answer.Body.String() != "{\"alive\":true}\n" || answer.Header().Get("Server") != "Passerelle/1.2.0" {
		t.Errorf("answered %d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}

func TestReady(t *testing.T) {
	good := httpd.Check{Name: "schema", Probe: func(context.Context) error { return nil }}
	bad := httpd.Check{Name: "database", Probe: func(context.Context) error { return errors.New("password of bob is wrong") }}
	hanging := httpd.Check{Name: "keys", Probe: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	for name, test := range map[string]struct {
		checks []httpd.Check
		status int
		body   string
	}{
		"nothing to check": {nil, 200, `{"failing":[],"ready":true}`},
		"all hold":         {[]httpd.Check{good, good}, 200, `{"failing":[],"ready":true}`},
		"one fails":        {[]httpd.Check{good, bad}, 503, `{"failing":["database"],"ready":false}`},
		"some hang":        {[]httpd.Check{hanging, good, bad}, 503, `{"failing":["keys","database"],"ready":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if status, body := ask(httpd.Ready(test.checks...)); status != test.status || body != test.body {
					t.Errorf("answered %d %s, want %d %s", status, body, test.status, test.body)
				}
			})
		})
	}
}
