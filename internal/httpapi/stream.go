package httpapi

import (
	"io"
	"mime"
	"net/http"
)

// Stream is an output that the endpoint produces while the API sends it. The length of the output
// is unknown.
type Stream struct {
	MediaType string
	// Name is the file name for the browser.
	Name string
	// Write writes the bytes. The API has sent the status before it calls Write. After an error,
	// the API cuts the connection, so no client mistakes a part for the whole.
	Write func(w io.Writer) error
}

// streamResponse returns a response that is produced while the API sends it.
func streamResponse(s Stream, requestID string) response {
	res := newResponse(http.StatusOK, nil, requestID)
	res.stream = &s
	res.header.Del("Content-Length")
	res.header.Set("Content-Type", s.MediaType)
	res.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": plainName(s.Name)}))
	return res
}

// writeStream sends the bytes. For HEAD it sends only headers.
func (res response) writeStream(w http.ResponseWriter, r *http.Request, refuse func(error) response) {
	w.WriteHeader(res.status)
	if r.Method == http.MethodHead {
		return
	}
	if err := res.stream.Write(w); err != nil {
		if r.Context().Err() == nil {
			refuse(err) // the API has sent the status, so refuse only logs the error
		}
		panic(http.ErrAbortHandler)
	}
}
