package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"passerelle"
)

// Content is an output that is a file. The API reads the file while it sends the whole file or the
// requested ranges.
type Content struct {
	// MediaType is the declared media type of the file. The API never guesses it.
	MediaType string
	// Name is the file name for the browser. It may contain any characters.
	Name string
	// Version changes with the content. Modified is the time of the last change, or zero if that
	// time is unknown.
	Version  string
	Modified time.Time
	// Public is set for a file that is the same for all callers. A client may keep such a file for
	// a day without a new request.
	Public bool
	// Body is the content. The API closes Body after it has sent the content.
	Body io.ReadSeekCloser
}

// inMemory is a file in memory. Close does nothing.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// Made returns a file that the service has generated in memory for the response. The version
// depends only on the file's bytes.
func Made(mediaType, name string, content []byte) Content {
	sum := sha256.Sum256(content)
	return Content{MediaType: mediaType, Name: name, Version: hex.EncodeToString(sum[:8]), Body: inMemory{bytes.NewReader(content)}}
}

// shownInPage lists the file types that a browser may display. Files of other types could contain
// active content from strangers. Such content would run with the rights of the signed-in person.
var shownInPage = []string{"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "text/plain"}

// contentResponse returns a response with the bytes of a file. A client may cache the file. The
// client must revalidate a cached file that is not public.
func contentResponse(c Content, requestID string) response {
	res := newResponse(http.StatusOK, nil, requestID)
	res.content = &c
	res.header.Del("Content-Length")
	disposition := "attachment"
	if slices.Contains(shownInPage, c.MediaType) {
		disposition = "inline"
	}
	if named := mime.FormatMediaType(disposition, map[string]string{"filename": plainName(c.Name)}); named != "" {
		disposition = named
	}
	keeping := "private, no-cache"
	if c.Public {
		keeping = "public, max-age=86400"
		res.header.Set("Vary", "Origin") // a cached response for one origin must not serve another origin
	}
	for name, value := range map[string]string{
		"Content-Type": c.MediaType, "Content-Disposition": disposition, "Cache-Control": keeping, "ETag": `"` + c.Version + `"`,
	} {
		res.header.Set(name, value)
	}
	return res
}

// plainName replaces control characters, invalid UTF-8 and the characters that Windows forbids in
// file names.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(name, "-"))
}

// writeContent sends the file, or the ranges that the client requests.
func (res response) writeContent(w http.ResponseWriter, r *http.Request, refuse func(error) response) {
	c := res.content
	defer c.Body.Close()
	http.ServeContent(&strictWriter{ResponseWriter: w, request: r, refuse: refuse}, withoutNothing(r), "", c.Modified, c.Body)
}

// withoutNothing replaces each range of the last 0 bytes with a range beyond the end of any file.
// RFC 9110, section 14.1.2, calls a range of the last 0 bytes unsatisfiable, but the standard
// library accepts it.
func withoutNothing(r *http.Request) *http.Request {
	const beyond = "9223372036854775807-"
	unit, ranges, some := strings.Cut(r.Header.Get("Range"), "=")
	if !some {
		return r
	}
	all := strings.Split(ranges, ",")
	for i, one := range all {
		if last, isSuffix := strings.CutPrefix(strings.TrimSpace(one), "-"); isSuffix && last != "" && strings.Trim(last, "0") == "" {
			all[i] = beyond
		}
	}
	asked := r.Clone(r.Context())
	asked.Header.Set("Range", unit+"="+strings.Join(all, ","))
	return asked
}

// strictWriter replaces the standard library's plain text with the API's error body. The standard
// library writes such text when a range is not satisfiable or a file is unreadable.
type strictWriter struct {
	http.ResponseWriter
	request *http.Request
	refuse  func(error) response
	refused bool
}

var (
	errRange = &passerelle.Error{Kind: passerelle.Invalid, Code: "rangeNotSatisfiable", Message: "The file ends before that range."}
	errBytes = errors.New("the file cannot be read")
)

func (w *strictWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest || status == http.StatusPreconditionFailed { // 412 has no body
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = true
	cause := error(errRange)
	if status != http.StatusRequestedRangeNotSatisfiable {
		cause = errBytes
	}
	w.Header().Del("Content-Disposition")
	w.refuse(cause).write(w.ResponseWriter, w.request, nil)
}

func (w *strictWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// refusal returns a function that converts an error to a response.
func (a *API) refusal(ctx context.Context) func(error) response {
	return func(err error) response { return a.failed(ctx, err) }
}
