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

// streamAnswer returns a response that is produced while the API sends it.
func streamAnswer(s Stream, requestID string) answer {
	an := newAnswer(http.StatusOK, nil, requestID)
	an.stream = &s
	an.header.Del("Content-Length")
	an.header.Set("Content-Type", s.MediaType)
	an.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": plainName(s.Name)}))
	return an
}

// writeStream sends the bytes. For HEAD it sends only headers.
func (an answer) writeStream(w http.ResponseWriter, r *http.Request, refuse func(error) answer) {
	w.WriteHeader(an.status)
	if r.Method == http.MethodHead {
		return
	}
	if err := an.stream.Write(w); err != nil {
		if r.Context().Err() == nil {
			refuse(err) // the API has sent the status, so refuse only logs the error
		}
		panic(http.ErrAbortHandler)
	}
}
