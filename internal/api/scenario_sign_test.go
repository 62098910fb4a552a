package api_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
)

func (s *fixture) answerKey(t testing.TB, who *testDomain) string {
	t.Helper()
	id, _, err := s.Access.AnswerKey(t.Context(), who.domain.ID)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(id, 10)
}

// A domain refuses to sign responses unless api.sign_responses is 1. An operator can replace the
// domain's signing key.
func TestSigningKeys(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		get := func(path string) ask { return ask{method: "GET", path: path} }
		create := ask{method: "POST", path: "/clients?sign_response", token: "config", body: `{"name":"signed"}`}
		before := s.record()
		s.do(t, create).says(t, 400, "invalidValue", "sign_response: this domain does not sign responses; to enable that, set the configuration key api.sign_responses to 1")
		s.untouched(t, before)
		s.configure(t, "home", map[string]string{"api.sign_responses": "1"})

		type key struct {
			ID         int64
			PublicKey  string `json:"public_key"`
			Deprecated bool
		}
		var list struct {
			Keys  []key `json:"sign_keys"`
			Total int
		}
		s.do(t, get("/sign-keys")).decode(t, &list)
		if list.Total != 0 || list.Keys == nil {
			t.Errorf("before anything was signed: %+v", list)
		}
		certificate := ask{method: "GET", path: "/certificate/signature", token: "config"}
		s.do(t, certificate).says(t, 404, "notFound", "")
		first := s.answerKey(t, s.domainOf("home"))
		if again := s.answerKey(t, s.domainOf("home")); again != first {
			t.Errorf("key %s, then %s", first, again)
		}
		second, err := s.Access.RotateAnswerKey(t.Context(), s.Domain.ID)
		if err != nil {
			t.Fatal(err)
		}
		s.do(t, get("/sign-keys")).decode(t, &list)
		if list.Total != 2 || list.Keys[0].ID != second.ID || list.Keys[0].Deprecated || !list.Keys[1].Deprecated || fmt.Sprint(list.Keys[1].ID) != first {
			t.Errorf("after a rotation: %+v", list)
		}
		var one key
		s.do(t, get("/sign-keys/"+first)).decode(t, &one)
		if one != list.Keys[1] || one.PublicKey == second.Public {
			t.Errorf("the first key is %+v", one)
		}
		var shown map[string]any
		s.do(t, certificate).decode(t, &shown)
		want := map[string]any{
			"id": json.Number(fmt.Sprint(second.ID)), "type": "signature", "public_key": second.Public, "created": passerelle.FormatDateTime(second.Created, time.UTC),
			"id_public_key_file": nil, "id_private_key_file": nil,
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("the certificate of answers (-want +got):\n%s", diff)
		}
		s.do(t, ask{method: "GET", path: "/certificate/connector", token: "config"}).says(t, 404, "notFound", "")
		s.do(t, ask{domain: "other", method: "GET", path: "/certificate/signature", token: "config"}).says(t, 404, "notFound", "")
		s.do(t, get("/sign-keys/"+noID)).says(t, 404, "notFound", "")
		s.do(t, ask{domain: "other", method: "GET", path: "/sign-keys/" + first}).says(t, 404, "notFound", "")
	})
}
