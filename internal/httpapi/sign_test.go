package httpapi_test

import "testing"

// The payload of a signature contains the response, byte for byte. The API signs only successful
// responses.
func TestSignedAnswers(t *testing.T) {
	s := newService(t)
	signed := func(url, payload string) outcome {
		return outcome{status: 200, body: `domain 1 says {"request_url":"` + url + `","response_timestamp":"2026-11-20T09:00:00.000000Z","response_payload":` + payload + `}`}
	}
	strict := call{url: "/2.0/flag?sign_response=1&all"}.strict()
	others := call{method: "POST", url: "/2.0/others?sign_response&x=<%26>", token: "second"}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"as a flag":       {call{url: "/2.0/flag?all&sign_response"}, signed("http://one.example/2.0/flag?all&sign_response", `{"got":true}`)},
		"as a word":       {call{url: "/2.0/2.0/flag/?sign_response=True"}, signed("http://one.example/2.0/2.0/flag/?sign_response=True", `{"got":false}`)},
		"strictly":        {strict, signed("http://one.example/2.0/flag?sign_response=1&all", `{"got":true}`)},
		"not wanted":      {call{url: "/2.0/flag?sign_response=false"}, outcome{status: 200, body: `{"got":false}`}},
		"no word":         {call{url: "/2.0/flag?sign_response=please"}, outcome{status: 400, code: "invalidValue", message: "sign_response: must be true"}},
		"twice":           {call{url: "/2.0/flag?sign_response=1&sign_response=0"}, outcome{status: 400, code: "invalidValue", message: "sign_response: must be true"}},
		"an error":        {call{url: "/2.0/flag?sign_response&all=perhaps"}, outcome{status: 400, code: "invalidValue", message: "all: must be"}},
		"nothing to sign": {call{method: "DELETE", url: "/2.0/items/1?sign_response", token: "second"}, outcome{status: 204}},
		"marks stay":      {others, signed("http://one.example/2.0/others?sign_response&x=<%26>", `{"x":"<&>"}`)},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
	if got := s.do(call{url: "/2.0/flag?sign_response"}).Header().Get("Content-Type"); got != "application/jose" {
		t.Errorf("Content-Type %q", got)
	}
	s.unsigned, s.created = true, 0
	s.check(t, post(`{"name":"a"}`).with("sign_response"), outcome{status: 400, code: "invalidValue", message: "sign_response: not here"})
	if s.created != 0 {
		t.Error("something was made for a caller who was refused")
	}
}

func TestSignedAnswersAreRepeated(t *testing.T) {
	s := newService(t)
	c := keyed("k", `{"name":"a"}`).with("sign_response")
	first, again := s.do(c), s.do(c)
	if first.Code != 200 || first.Body.String() != again.Body.String() || again.Header().Get("Content-Type") != "application/jose" || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s, then %d %s", first.Code, first.Body, again.Code, again.Body)
	}
}
