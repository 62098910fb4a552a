package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func post(body string) call {
	return call{method: "POST", url: "/2.0/items", token: "second", body: body, contentType: "application/json"}
}

func (c call) as(contentType string) call { c.contentType = contentType; return c }

func (c call) with(query string) call { c.url += "?" + query; return c }

func (c call) encoded(how string) call {
	c.header = map[string]string{"Content-Encoding": how}
	return c
}

func (c call) strict() call {
	c.header = map[string]string{"Prefer": "handling=strict"}
	return c
}

func invalid(message string) outcome {
	return outcome{status: 400, code: "invalidValue", message: message}
}

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data; boundary=b"
)

func multipart(fields ...string) string {
	var b strings.Builder
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", fields[i], fields[i+1])
	}
	return b.String() + "--b--\r\n"
}

func TestBodiesRefused(t *testing.T) {
	s := newService(t)
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"empty":                   {post(""), outcome{400, "missingParameter", "name: is required", ""}},
		"blank":                   {post(" \n"), outcome{400, "missingParameter", "name: is required", ""}},
		"null for required":       {post(`{"name":null}`), outcome{400, "missingParameter", "name: is required", ""}},
		"required deep inside":    {post(`{"name":"a","lines":[{"amount":1},{}]}`), outcome{400, "missingParameter", "lines[1].amount: is required", ""}},
		"cut short":               {post(`{"name":`), invalid("body: not JSON at byte 8")},
		"trailing data":           {post(`{"name":"a"} x`), invalid("body: not JSON at byte 14")},
		"two values":              {post(`{"name":"a"}{}`), invalid("body: not JSON at byte 13")},
		"an array":                {post(`[]`), invalid("body: must be an object, not an array")},
		"null":                    {post(`null`), invalid("body: must be an object, not null")},
		"key twice":               {post(`{"name":"a","name":"a"}`), invalid("name: given twice")},
		"unknown key twice":       {post(`{"name":"a","x":1,"x":2}`), invalid("x: given twice")},
		"key twice, escaped":      {post(`{"name":"a","\u006eame":"a"}`), invalid("name: given twice")},
		"key twice inside":        {post(`{"name":"a","lines":[{"amount":1,"amount":1}]}`), invalid("lines[0].amount: given twice")},
		"key twice in an array":   {post(`[{"name":"a"},{"name":"a","name":"a"}]`), invalid("body[1].name: given twice")},
		"NUL in an array":         {post(`["\u0000"]`), invalid("body[0]: must not contain a NUL character")},
		"key of another case":     {post(`{"Name":"a"}`), invalid(`Name: unknown name; names are case-sensitive, and this one is written "name"`)},
		"the same inside":         {post(`{"name":"a","first":{"amount":1,"LABEL":"x"}}`), invalid(`first.LABEL: unknown name; names are case-sensitive, and this one is written "label"`)},
		"object for a number":     {post(`{"name":"a","lines":[{"amount":{}}]}`), invalid("lines[0].amount: must be a number, not an object")},
		"boolean for a number":    {post(`{"name":"a","amount":true}`), invalid("amount: must be a number, not a boolean")},
		"words for a number":      {post(`{"name":"a","amount":"1e3"}`), invalid("amount: must be a number")},
		"exponent in a decimal":   {post(`{"name":"a","amount":1e3}`), invalid("amount: must be a number without exponent")},
		"decimal comma":           {post(`{"name":"a","amount":"12,50"}`), invalid("amount: must have a decimal point, not a comma")},
		"two commas":              {post(`{"name":"a","amount":"1,2,5"}`), invalid("amount: must be a number without exponent")},
		"empty number":            {post(`{"name":"a","amount":""}`), invalid("amount: must be a number, but is empty")},
		"leading zeros":           {post(`{"name":"a","amount":"007"}`), invalid("amount: must be a number without exponent or leading zeros")},
		"leading zeros, negative": {post(`{"name":"a","amount":"-01"}`), invalid("amount: must be a number")},
		"leading zeros, fraction": {post(`{"name":"a","amount":"00.5"}`), invalid("amount: must be a number")},
		"number for a string":     {post(`{"name":1}`), invalid("name: must be a string, not a number")},
		"string for a boolean":    {post(`{"name":"a","ready":"true"}`), invalid("ready: must be a boolean, not a string")},
		"number for an array":     {post(`{"name":"a","lines":1}`), invalid("lines: must be an array, not a number")},
		"array for an object":     {post(`{"name":"a","first":[]}`), invalid("first: must be an object, not an array")},
		"string for a dictionary": {post(`{"name":"a","fields":"x"}`), invalid("fields: must be an object, not a string")},
		"number in a dictionary":  {post(`{"name":"a","fields":{"k":1}}`), invalid("fields.k: must be a string, not a number")},
		"under the empty key":     {post(`{"name":"a","fields":{"":1}}`), invalid("fields.: must be a string, not a number")},
		"number among words":      {post(`{"name":"a","scope":["a",1]}`), invalid("scope[1]: must be a string, not a number")},
		"object for words":        {post(`{"name":"a","scope":{}}`), invalid("scope: must be a string or an array of strings, not an object")},
		"fraction for an integer": {post(`{"name":"a","count":1.0}`), invalid("count: must be an integer")},
		"string for an integer":   {post(`{"name":"a","count":"1"}`), invalid("count: must be an integer, not a string")},
		"overflow":                {post(`{"name":"a","count":9223372036854775808}`), invalid("count: must be an integer of at most 64 bits")},
		"exponent":                {post(`{"name":"a","count":1e1}`), invalid("count: must be an integer")},
		"out of range":            {post(`{"name":"a","count":10}`), invalid("count: must be from 1 to 9")},
		"not among the words":     {post(`{"name":"a","colour":"pink"}`), invalid("colour: must be one of red, green, blue")},
		"too long":                {post(`{"name":"12345678901"}`), invalid("name: longer than 10 characters")},
		"NUL escaped":             {post(`{"name":"a\u0000"}`), invalid("name: must not contain a NUL character")},
		"NUL in a key":            {post(`{"name":"a","fields":{"k\u0000":"x"}}`), invalid("fields: must not contain a NUL character")},
		"invalid UTF-8":           {post("{\"name\":\"\xff\"}"), invalid("name: not valid UTF-8")},
		"invalid UTF-8, escapes":  {post("{\"name\":\"\\n\xff\"}"), invalid("name: not valid UTF-8")},
		"half a pair":             {post(`{"name":"\ud800"}`), invalid("name: half of a surrogate pair")},
		"half a pair beside":      {post("{\"name\":\"\ufffd\\udc00\"}"), invalid("name: half of a surrogate pair")},
		"half a pair, masked":     {post(`{"name":"\\\\ufffd\ud800"}`), invalid("name: half of a surrogate pair")},
		"half a pair, at the end": {post(`{"name":"\ud83d\ude00\uDE00"}`), invalid("name: half of a surrogate pair")},
		"halves in disorder":      {post(`{"name":"\ude00\ud83d"}`), invalid("name: half of a surrogate pair")},
		"too deep":                {post(`{"name":"a","x":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}"), invalid("nested deeper than 32 levels")},
		"absurdly deep":           {post(`{"x":` + strings.Repeat("[", 200000)), invalid("body: not JSON")},
		"many keys, one twice":    {post(`{` + manyKeys(1000) + `"k500":1}`), invalid("k500: given twice")},
		"too many values":         {post(`{"name":"a","x":[{}` + strings.Repeat(",{}", 125000) + `]}`), outcome{413, "payloadTooLarge", "at most 250000 JSON values", ""}},
		"many values":             {post(`{"name":"a","x":[0` + strings.Repeat(",0", 249900) + `]}`), outcome{status: 200}},
		"commas in a text":        {post(`{"name":"a","x":"` + strings.Repeat(`,[{\"`, 100000) + `"}`), outcome{status: 200}},
		"too large":               {post(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`), outcome{413, "payloadTooLarge", "1 MiB", ""}},

		"media type":            {post("x").as("text/plain"), invalid("Content-Type: must be one of application/json, ")},
		"compressed":            {post("\x1f\x8b").encoded("GZip"), invalid("Content-Encoding: must be absent: the service does not decompress request bodies")},
		"compressed twice":      {post("x").encoded("identity, br"), invalid("Content-Encoding: must be absent")},
		"a character set":       {post(`{"name":"a"}`).encoded("utf-8"), outcome{status: 200}},
		"media type unreadable": {post("x").as("a/b;;=;"), invalid("Content-Type: not a media type")},

		"form, nested level":       {post("name=a&first[amount]=1").as(formType), invalid("first[amount]: a form cannot have nested members")},
		"form, array":              {post("name=a&lines[]=1").as(formType), invalid("lines[]: a form cannot have nested members")},
		"form, scalar for object":  {post("name=a&first=1").as(formType), invalid("first: must be an object, not a string")},
		"form, scalar for objects": {post("name=a&lines=1").as(formType), invalid("lines: must be an array, not a string")},
		"form, two values":         {post("name=a&name=b").as(formType), invalid("name: given twice with different values")},
		"form, escape":             {post("name=%zz").as(formType), invalid("body: not a form")},
		"form, NUL":                {post("name=%00").as(formType), invalid("name: must not contain a NUL character")},
		"form, invalid UTF-8":      {post("name=%ff").as(formType), invalid("name: not valid UTF-8")},
		"form, invalid name":       {post("name=a&%ff=1").as(formType), invalid("?: not valid UTF-8")},
		"form, case":               {post("NAME=a").as(formType), invalid(`this one is written "name"`)},
		"form, boolean":            {post("name=a&ready=yes").as(formType), invalid("ready: must be true, false, 1 or 0")},
		"form, integer":            {post("name=a&count=").as(formType), invalid("count: must be an integer")},

		"multipart, no boundary": {post("x").as("multipart/form-data"), invalid("Content-Type: multipart/form-data needs a boundary")},
		"multipart, not one":     {post("x").as(multipartType), invalid("body: not multipart/form-data")},
		"multipart, cut short":   {post(strings.TrimSuffix(multipart("name", "a"), "--b--\r\n")).as(multipartType), invalid("body: not multipart/form-data")},
		"multipart, a file":      {post("--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\nx\r\n--b--").as(multipartType), invalid("f: must be a field with a name, not a file")},
		"multipart, two values":  {post(multipart("name", "a", "name", "b")).as(multipartType), invalid("name: given twice with different values")},
		"multipart, parts":       {post(strings.Repeat("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n", 1001) + "--b--").as(multipartType), invalid("body: more than 1000 parts")},
		"multipart, most parts":  {post(strings.Repeat("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n", 999) + multipart("name", "a")).as(multipartType), outcome{status: 200}},

		"query against body":       {post(`{"name":"a"}`).with("name=b"), invalid("name: has one value in the body and another in the query string")},
		"query against object":     {post(`{"name":"a","scope":["x"]}`).with("scope=x"), invalid("scope: has one value in the body and another")},
		"query against body, long": {call{method: "POST", url: "/2.0/others?" + longKey + "=1", token: "second", contentType: "application/json", body: `{"` + longKey + `":"2"}`}, invalid(longKey[:59] + "…: has one value")},
		"query, two values":        {post("").with("name=a&name=b"), invalid("name: given twice with different values")},
		"query, escape":            {post(`{"name":"a"}`).with("x=%zz"), invalid("query string: ")},
		"query, scalar for object": {post("").with("first=x&name=a").strict(), outcome{status: 200}},

		"strict, unknown key":     {post(`{"name":"a","conut":1}`).strict(), invalid(`conut: unknown; did you mean "count"?`)},
		"strict, nothing near":    {post(`{"name":"a","zzzzzzzz":1}`).strict(), invalid("zzzzzzzz: unknown")},
		"strict, inside":          {post(`{"name":"a","lines":[{"amount":1,"labl":""}]}`).strict(), invalid(`lines[0].labl: unknown; did you mean "label"?`)},
		"strict, query":           {post(`{"name":"a"}`).with("show_sensitiv=1").strict(), invalid(`show_sensitiv: unknown; did you mean "show_sensitive"?`)},
		"strict, query, body key": {post("").with("name=a").strict(), outcome{status: 200}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}

var longKey = strings.Repeat("k", 200)

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String()
}

func TestBodiesAccepted(t *testing.T) {
	s := newService(t)
	full := func(changes string) string {
		value := map[string]string{
			"ShowSensitive": "false", "Name": `"a"`, "Colour": "null", "Count": "null", "Ready": "null", "Amount": `""`,
			"Lines": "null", "First": "null", "Fields": "null", "Scope": "null", "Owner": `{"Present":false,"Null":false,"Value":""}`,
		}
		for change := range strings.SplitSeq(changes, "; ") {
			if name, to, ok := strings.Cut(change, "="); ok {
				value[name] = to
			}
		}
		var b strings.Builder
		for i, name := range []string{"ShowSensitive", "Name", "Colour", "Count", "Ready", "Amount", "Lines", "First", "Fields", "Scope", "Owner"} {
			b.WriteString(map[bool]string{true: `{"got":{`, false: ","}[i == 0])
			b.WriteString(`"` + name + `":` + value[name])
		}
		return b.String() + "}}"
	}
	line := `{"Amount":"1.50","Label":"é€😀xx","Tags":["a","b"]}`
	for name, test := range map[string]struct {
		call call
		want string
	}{
		"smallest":             {post(`{"name":"a"}`), ""},
		"no content type":      {post(`{"name":"a"}`).as(""), ""},
		"other JSON type":      {post(`{"name":"a"}`).as("application/vnd.api+json; charset=utf-8"), ""},
		"unknown key":          {post(`{"name":"a","x":{"y":[1,null,"\u00e9"]}}`), ""},
		"query only":           {post("").with("name=a"), ""},
		"query, unknown":       {post(`{"name":"a"}`).with("x=1&x=2"), ""},
		"query and body":       {post(`{"name":"a","count":3}`).with("count=3"), "Count=3"},
		"null is absence":      {post(`{"name":"a","count":null,"lines":null,"amount":null,"scope":null}`), ""},
		"null that means it":   {post(`{"name":"a","owner":null}`), `Owner={"Present":true,"Null":true,"Value":""}`},
		"null in a query":      {post("").with("name=a&owner=null"), `Owner={"Present":true,"Null":true,"Value":""}`},
		"a value all the same": {post(`{"name":"a","owner":"null"}`), `Owner={"Present":true,"Null":false,"Value":"null"}`},
		"digits are kept":      {post(`{"name":"a","amount":10.000000000000000000001}`), `Amount="10.000000000000000000001"`},
		"digits as a string":   {post(`{"name":"a","amount":"-0.10"}`), `Amount="-0.10"`},
		"nested":               {post(`{"name":"a","lines":[{"amount":1.50,"label":"é€\ud83d\ude00xx","tags":["a","b"]}],"first":{"amount":"1.50","label":"é€😀xx","tags":["a","b"]}}`), "Lines=[" + line + "]; First=" + line},
		"dictionary":           {post(`{"name":"a","fields":{"k":"v","":"w"}}`), `Fields={"":"w","k":"v"}`},
		"word":                 {post(`{"name":"a","scope":"x y"}`), `Scope=["x y"]`},
		"words":                {post(`{"name":"a","scope":["x","y"]}`), `Scope=["x","y"]`},
		"enumeration":          {post(`{"name":"a","colour":"red","ready":false,"count":9}`), `Colour="red"; Ready=false; Count=9`},
		"form":                 {post("name=a&count=2&ready=True&amount=1.5&scope=x&colour=red&x.y=1").as(formType), `Count=2; Ready=true; Amount="1.5"; Scope=["x"]; Colour="red"`},
		"form, same twice":     {post("name=a&name=a").as(formType), ""},
		"form and query":       {post("name=a").as(formType).with("count=2"), "Count=2"},
		"multipart":            {post(multipart("name", "a", "count", "2")).as(multipartType), "Count=2"},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, outcome{status: 200, body: full(test.want)}) })
	}
}

func TestFlags(t *testing.T) {
	s := newService(t)
	for query, want := range map[string]outcome{
		"": {status: 200, body: `{"got":false}`}, "?all": {status: 200, body: `{"got":true}`},
		"?all=": {status: 200, body: `{"got":true}`}, "?all=true": {status: 200, body: `{"got":true}`},
		"?all=True": {status: 200, body: `{"got":true}`}, "?all=1": {status: 200, body: `{"got":true}`},
		"?all=0": {status: 200, body: `{"got":false}`}, "?all=false": {status: 200, body: `{"got":false}`},
		"?all&all=": {status: 200, body: `{"got":true}`}, "?all=1&all=0": invalid("all: given twice"),
		"?all=yes": invalid("all: must be true, false, 1 or 0"), "?all=01": invalid("all: must be"),
	} {
		s.check(t, call{url: "/2.0/flag" + query}, want)
	}
	s.check(t, call{url: "/2.0/flag?al"}.strict(), invalid(`al: unknown; did you mean "all"?`))
}
