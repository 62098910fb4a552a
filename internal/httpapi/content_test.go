package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/httpapi"
)

type body struct {
	io.ReadSeeker
	closed *int
}

func (b body) Close() error {
	*b.closed++
	return nil
}

type unreadable struct{ io.Reader }

func (unreadable) Seek(int64, int) (int64, error) { return 0, errors.New("the disk is gone") }

type whichFile struct {
	Kind string `query:"kind"`
}

const paper = "0123456789"

var closings int

func download(_ context.Context, _ *httpapi.Caller, in whichFile) (httpapi.Content, error) {
	c := httpapi.Content{
		MediaType: "application/pdf", Name: "Facture n° 7.pdf", Version: "v1", Modified: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
		Body: body{strings.NewReader(paper), &closings},
	}
	switch in.Kind {
	case "page":
		c.MediaType, c.Name = "text/html", "../a\"\r\nX-Injected: yes.html"
	case "public":
		c.Public = true
	case "broken":
		c.Body = body{unreadable{bytes.NewReader(nil)}, &closings}
	}
	return c, nil
}

func TestContent(t *testing.T) {
	s := newService(t)
	for name, test := range map[string]struct {
		call   call
		status int
		body   string
		header map[string]string
	}{
		"whole": {call{}, 200, paper, map[string]string{
			"Content-Type": "application/pdf", "Content-Length": "10", "Accept-Ranges": "bytes", "ETag": `"v1"`, "Last-Modified": "Sun, 01 Nov 2026 09:00:00 GMT",
			"Content-Disposition": "inline; filename*=utf-8''Facture%20n%C2%B0%207.pdf", "X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache",
		}},
		"head":                {call{method: "HEAD"}, 200, "", map[string]string{"Content-Length": "10", "Content-Type": "application/pdf"}},
		"a range":             {call{header: map[string]string{"Range": "bytes=2-4"}}, 206, "234", map[string]string{"Content-Range": "bytes 2-4/10", "Content-Length": "3"}},
		"the end":             {call{header: map[string]string{"Range": "bytes=-3"}}, 206, "789", map[string]string{"Content-Range": "bytes 7-9/10"}},
		"a range of another":  {call{header: map[string]string{"Range": "bytes=2-4", "If-Range": `"v0"`}}, 200, paper, nil},
		"what the caller has": {call{header: map[string]string{"If-None-Match": `"v1"`}}, 304, "", map[string]string{"Content-Type": ""}},
		"no such range": {
			call{header: map[string]string{"Range": "bytes=20-"}},
			416,
			`{"code":"rangeNotSatisfiable","description":"The file has no such range.","message":"The file ends before that range.","request_id":"1234"}`,
			map[string]string{"Content-Type": "application/json", "Content-Range": "bytes */10", "Content-Disposition": ""},
		},
		"the last 0 bytes": {
			call{header: map[string]string{"Range": "bytes=-0"}},
			416,
			`{"code":"rangeNotSatisfiable","description":"The file has no such range.","message":"The file ends before that range.","request_id":"1234"}`,
			map[string]string{"Content-Range": "bytes */10"},
		},
		"… and some":                  {call{header: map[string]string{"Range": "bytes= -00, 2-4"}}, 206, "234", map[string]string{"Content-Range": "bytes 2-4/10"}},
		"the last 0 bytes of another": {call{header: map[string]string{"Range": "bytes=-0", "If-Range": `"v0"`}}, 200, paper, nil},
		"no range at all":             {call{header: map[string]string{"Range": "bytes=-"}}, 416, `{"code":"rangeNotSatisfiable","description":"The file has no such range.","message":"The file ends before that range.","request_id":"1234"}`, nil},
		"a page that could run something": {call{url: "/2.0/download?kind=page"}, 200, paper, map[string]string{
			"Content-Type": "text/html", "Content-Disposition": `attachment; filename="..-a---X-Injected- yes.html"`, "X-Injected": "",
		}},
		"for everybody": {call{url: "/2.0/download?kind=public"}, 200, paper, map[string]string{"Cache-Control": "public, max-age=86400", "ETag": `"v1"`}},
		"one that cannot be read": {
			call{url: "/2.0/download?kind=broken"},
			500, `{"code":"bug","description":"An internal error occurred.","message":null,"request_id":"1234"}`,
			map[string]string{"Content-Type": "application/json", "ETag": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := closings
			if test.call.url == "" {
				test.call.url = "/2.0/download"
			}
			got := s.do(test.call)
			if got.Code != test.status {
				t.Errorf("status %d, want %d", got.Code, test.status)
			}
			if diff := cmp.Diff(test.body, got.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			for name, want := range test.header {
				if value := got.Header().Get(name); value != want {
					t.Errorf("%s is %q, want %q", name, value, want)
				}
			}
			if closings != before+1 {
				t.Errorf("the file was closed %d times", closings-before)
			}
		})
	}
}
