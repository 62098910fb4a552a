package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"passerelle"
)

// signParameter is the parameter that requests a signed response. Every call accepts the parameter.
// An input field "*", which receives undeclared parameters, therefore never receives this one.
const signParameter = "sign_response"

// SignFunc returns a payload as a compact JWS.
type SignFunc func(payload []byte) (string, error)

// signed is the payload of a signature: the request, the time and the response.
type signed struct {
	RequestURL string          `json:"request_url"`
	Timestamp  string          `json:"response_timestamp"`
	Payload    json.RawMessage `json:"response_payload"`
}

// signature returns the function that signs the response, or nil for a request that does not ask
// for a signature. The API calls signature before the endpoint runs.
func (a *API) signature(ctx context.Context, x *exchange) (SignFunc, error) {
	values, there := x.query[signParameter]
	if !there {
		return nil, nil
	}
	wanted, is := flagWords[strings.ToLower(values[0])]
	switch {
	case !is || len(values) > 1:
		return nil, passerelle.InvalidField(signParameter, "must be true, false, 1 or 0; a flag without a value is true")
	case !wanted:
		return nil, nil
	}
	return a.config.Sign(ctx, &x.caller)
}

// signatureDate is the format of dates in signatures. Webhooks use the same format.
const signatureDate = "2006-01-02T15:04:05.000000Z"

// sign returns the response as a compact JWS. The payload contains the unchanged bytes of the
// response, and the real time.
func (a *API) sign(x *exchange, with SignFunc, status int, body []byte) (response, error) {
	payload, err := encode(signed{
		RequestURL: strings.TrimSuffix(x.caller.Base, cmp.Or(x.version, version)) + x.request.URL.RequestURI(),
		Timestamp:  a.config.Now().UTC().Format(signatureDate),
		Payload:    body,
	})
	if err != nil {
		return response{}, err
	}
	compact, err := with(payload)
	if err != nil {
		return response{}, err
	}
	out := newResponse(status, []byte(compact), x.caller.Request)
	out.header["Content-Type"] = []string{"application/jose"}
	return out, nil
}
