package httpapi_test

import (
	"context"
	"testing"

	"passerelle/internal/httpapi"
)

type keeper struct {
	Name    string              `body:"name"`
	Picture httpapi.FileContent `body:"picture,required"`
}

type kept struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

func keep(_ context.Context, _ *httpapi.Caller, in keeper) (kept, error) {
	return kept{in.Name, len(in.Picture)}, nil
}

func TestFiles(t *testing.T) {
	s := newService(t)
	form := func(parts string) call {
		return call{method: "POST", url: "/2.0/pictures", body: parts + "--b--", contentType: "multipart/form-data; boundary=b"}
	}
	part := func(head, content string) string {
		return "--b\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + content + "\r\n"
	}
	picture := part(`name=picture; filename="x.png"`, "\x00\xff\x89PNG")
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"a file, any bytes":       {form(part("name=name", "n") + picture), outcome{status: 200, body: `{"name":"n","size":6}`}},
		"base64 in JSON":          {call{method: "POST", url: "/2.0/pictures", body: `{"picture":"AP8="}`}, outcome{status: 200, body: `{"name":"","size":2}`}},
		"base64 in the query":     {call{method: "POST", url: "/2.0/pictures?picture=AP8%3D"}, outcome{status: 200, body: `{"name":"","size":2}`}},
		"a file for a text":       {form(part(`name=name; filename=x`, "n") + picture), outcome{status: 400, code: "invalidValue", message: "name: must be a field with a name, not a file"}},
		"a file nobody asked for": {form(part(`name=other; filename=x`, "n") + picture), outcome{status: 400, code: "invalidValue", message: "other: must be a field with a name, not a file; the field for the file is picture"}},
		"a file without a name":   {form(part(`filename=x`, "n")), outcome{status: 400, code: "invalidValue", message: "not a file"}},
		"a file twice":            {form(picture + picture), outcome{status: 400, code: "invalidValue", message: "picture: given twice"}},
		"a file and a text":       {form(picture + part("name=picture", "AP8=")), outcome{status: 400, code: "invalidValue", message: "picture: given twice"}},
		"not base64":              {call{method: "POST", url: "/2.0/pictures", body: `{"picture":"?"}`}, outcome{status: 400, code: "invalidValue", message: "picture: must be a file in a form, or base64"}},
		"a number":                {call{method: "POST", url: "/2.0/pictures", body: `{"picture":1}`}, outcome{status: 400, code: "invalidValue", message: "picture: must be a file, not a number"}},
		"nothing":                 {call{method: "POST", url: "/2.0/pictures"}, outcome{status: 400, code: "missingParameter", message: "picture"}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}

// importer is an input whose file may also be the complete body.
type importer struct {
	Name string               `body:"name"`
	Text httpapi.UploadedFile `body:"text,required" raw:"text/csv,application/xml"`
}

func importText(_ context.Context, _ *httpapi.Caller, in importer) (string, error) {
	return in.Name + "|" + in.Text.Name + "|" + string(in.Text.Content), nil
}

func TestBodyThatIsAFile(t *testing.T) {
	s := newService(t)
	raw := func(contentType, body string) call {
		return call{method: "POST", url: "/2.0/texts?name=n", body: body, contentType: contentType}
	}
	form := "--b\r\nContent-Disposition: form-data; name=text; filename=\"../x.csv\"\r\n\r\na;b\r\n--b--"
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"a type of the field": {raw("text/csv; charset=utf-8", "a;b\n"), outcome{status: 200, body: `"n||a;b\n"`}},
		"another":             {raw("application/xml", "{}"), outcome{status: 200, body: `"n||{}"`}},
		"a form":              {raw("multipart/form-data; boundary=b", form), outcome{status: 200, body: `"n|x.csv|a;b"`}},
		"JSON":                {raw("application/json", `{"text":"YTti"}`), outcome{status: 200, body: `"n||a;b"`}},
		"nothing":             {raw("text/csv", ""), outcome{status: 400, code: "missingParameter", message: "text"}},
		"a type of no field":  {raw("text/html", "a"), outcome{status: 400, code: "invalidValue", message: "Content-Type: must be one of application/json, application/x-www-form-urlencoded, multipart/form-data, text/csv, application/xml"}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}
