package httpapi_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"passerelle/internal/httpapi"
)

type anyKeys struct {
	Values map[string]httpapi.Nullable[string] `body:"*"`
}

func anything(_ context.Context, _ *httpapi.Caller, in anyKeys) (map[string]string, error) {
	out := map[string]string{}
	for name, value := range in.Values {
		out[name] = value.Value
		if value.Null {
			out[name] = "(null)"
		}
	}
	return out, nil
}

type otherKeys struct {
	Flag   bool              `query:"flag"`
	Number *int64            `body:"number"`
	Values map[string]string `body:"*,query"`
}

func others(_ context.Context, _ *httpapi.Caller, in otherKeys) (map[string]string, error) {
	if in.Values == nil {
		in.Values = map[string]string{}
	}
	if in.Number != nil {
		in.Values["the number"] = strconv.FormatInt(*in.Number, 10)
	}
	return in.Values, nil
}

type passedOn struct {
	Data httpapi.RawObject `body:"data"`
}

func passed(_ context.Context, _ *httpapi.Caller, in passedOn) (httpapi.RawJSON, error) {
	if in.Data == nil {
		return httpapi.RawJSON(`"none"`), nil
	}
	return httpapi.RawJSON(in.Data), nil
}

// A field "*" receives the undeclared keys of a body, with their texts and nulls.
func TestBodiesOfAnyKeys(t *testing.T) {
	s := newService(t)
	to := func(body string) call {
		return call{method: "POST", url: "/2.0/anything", token: "second", body: body, contentType: "application/json"}
	}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"none":         {to(""), outcome{status: 200, body: `{}`}},
		"some":         {to(`{"a.b":"1","A.B":"2","c":null,"":"x"}`), outcome{status: 200, body: `{"":"x","A.B":"2","a.b":"1","c":"(null)"}`}},
		"strict":       {to(`{"a":"1"}`).strict(), outcome{status: 200, body: `{"a":"1"}`}},
		"a form":       {to("a.b=1&c=null").as(formType), outcome{status: 200, body: `{"a.b":"1","c":"(null)"}`}},
		"a query":      {to(`{"a":"1"}`).with("b=2"), outcome{status: 200, body: `{"a":"1"}`}},
		"a number":     {to(`{"a":1}`), invalid("a: must be a string, not a number")},
		"an object":    {to(`{"a":{}}`), invalid("a: must be a string, not an object")},
		"an array":     {to(`[]`), invalid("body: must be an object, not an array")},
		"a key, twice": {to(`{"a":"1","a":"1"}`), invalid("a: given twice")},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}

// A body may have declared and undeclared keys. Both may also be in the query.
func TestBodiesOfOtherKeys(t *testing.T) {
	s := newService(t)
	to := func(body string) call {
		return call{method: "POST", url: "/2.0/others", token: "second", body: body, contentType: "application/json"}
	}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"none":              {to(""), outcome{status: 200, body: `{}`}},
		"both":              {to(`{"number":1,"a":"b"}`), outcome{status: 200, body: `{"a":"b","the number":"1"}`}},
		"a declared null":   {to(`{"number":null,"a":"b"}`), outcome{status: 200, body: `{"a":"b"}`}},
		"strict":            {to(`{"a":"b"}`).strict(), outcome{status: 200, body: `{"a":"b"}`}},
		"a form":            {to("number=1&a=b").as(formType), outcome{status: 200, body: `{"a":"b","the number":"1"}`}},
		"a query":           {to("").with("number=1&a=b&flag"), outcome{status: 200, body: `{"a":"b","the number":"1"}`}},
		"a strict query":    {to("").with("a=b").strict(), outcome{status: 200, body: `{"a":"b"}`}},
		"two places":        {to(`{"a":"b"}`).with("a=c"), invalid("a: has one value in the body and another")},
		"another type":      {to(`{"number":"x"}`), invalid("number: must be an integer")},
		"another's number":  {to(`{"a":1}`), outcome{status: 200, body: `{"a":"1"}`}},
		"others' types":     {to(`{"a":"b","c":null,"d":true,"e":{},"f":[]}`), outcome{status: 200, body: `{"a":"b"}`}},
		"a strict number":   {to(`{"a":1}`).strict(), invalid("a: must be a string, not a number")},
		"a strict null":     {to(`{"a":null}`).strict(), invalid("a: must be a string, not null")},
		"a key in capitals": {to(`{"Number":"1"}`), invalid("Number: unknown name; names are case-sensitive")},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}

// A RawObject keeps the order, digits and texts of the object in the request.
func TestObjectsPassedOn(t *testing.T) {
	s := newService(t)
	to := func(body string) call {
		return call{method: "POST", url: "/2.0/passed", token: "second", body: body, contentType: "application/json"}
	}
	large := func(size int) string { return `{"a":"` + strings.Repeat("x", size) + `"}` }
	const object = `{"z":1.50,"a":[true,null,-0,1e400,{}],"é\"<":"\u2028\n</"}`
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"none":      {to(`{}`), outcome{status: 200, body: `"none"`}},
		"null":      {to(`{"data":null}`), outcome{status: 200, body: `"none"`}},
		"empty":     {to(`{"data": { } }`), outcome{status: 200, body: `{}`}},
		"an object": {to(`{"data":` + object + `}`), outcome{status: 200, body: object}},
		"a large":   {to(`{"data":` + large(2<<20) + `}`), outcome{status: 200, body: large(2 << 20)}},
		"too large": {to(`{"data":` + large(3<<20) + `}`), outcome{413, "payloadTooLarge", "3 MiB", ""}},
		"an array":  {to(`{"data":[]}`), invalid("data: must be an object, not an array")},
		"a string":  {to(`{"data":"{}"}`), invalid("data: must be an object, not a string")},
		"in a form": {to("data={}").as(formType), invalid("data: must be an object, not a string")},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}
