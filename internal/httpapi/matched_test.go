package httpapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The API reports the pattern of the matched route, with the version. It reports nothing when no
// route matches.
func TestPatternsAreReported(t *testing.T) {
	s := newService(t)
	for _, c := range []call{
		{url: "/2.0/items/3", token: "reader"},
		{url: "/2.0/2.0/items/3/"},
		{url: "/2.0/things", token: "user"},
		{method: "POST", url: "/webhooks/auth?type=x"},
		{method: "PATCH", url: "/2.0/items/3", token: "reader"},
		{url: "/2.0/nothing"},
		{url: "/items/3"},
	} {
		s.do(c)
	}
	want := []string{"/2.0/items/{itemId}", "/2.0/items/{itemId}", "/2.0/things", "/2.0/webhooks/auth"}
	if diff := cmp.Diff(want, s.matched); diff != "" {
		t.Errorf("patterns told (-want +got):\n%s", diff)
	}
}
