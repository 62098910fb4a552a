package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"passerelle/internal/httpapi"
)

func streamed(_ context.Context, _ *httpapi.Caller, in whichFile) (httpapi.Stream, error) {
	return httpapi.Stream{MediaType: "application/zip", Name: "a/b.zip", Write: func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat(paper, 1000))
		if in.Kind == "broken" {
			return errors.New("the disk is gone")
		}
		return err
	}}, nil
}

// TestStream checks that the API cuts the connection when an output is incomplete.
func TestStream(t *testing.T) {
	s := newService(t)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	get := func(method, query string) (*http.Response, string, error) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/2.0/stream"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "one.example"
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response, string(body), err
	}
	r, body, err := get("GET", "")
	if err != nil || r.StatusCode != 200 || body != strings.Repeat(paper, 1000) || r.Header.Get("Content-Type") != "application/zip" ||
		r.Header.Get("Content-Disposition") != "attachment; filename=a-b.zip" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v, %d bytes (%v)", r.StatusCode, r.Header, len(body), err)
	}
	if r, body, err := get("HEAD", ""); err != nil || body != "" || r.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("HEAD: %v %q (%v)", r.Header, body, err)
	}
	if _, _, err := get("GET", "?kind=broken"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("one that breaks off ends with %v", err)
	}
}
