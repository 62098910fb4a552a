package httpapi

import (
	"io"
	"mime"
	"net/http"
)

// Stream is an output that is produced while it is sent, so its length is unknown.
type Stream struct {
	MediaType string
	// Name is the file name for the browser.
	Name string
	// Write writes the bytes. After the first byte the status cannot change. An error then cuts the
	// connection, so that no client takes a part for the whole.
	Write func(w io.Writer) error
}

// streamAnswer returns an answer that is produced while it is sent.
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
			refuse(err) // the status is sent, so the error is only logged
		}
		panic(http.ErrAbortHandler)
	}
}
