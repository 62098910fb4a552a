package httpapi

import (
	"io"
	"mime"
	"net/http"
)

// Stream is an output whose bytes are made while they are sent, and whose length
// nobody knows before.
type Stream struct {
	MediaType string
	// Name is what a browser calls the file.
	Name string
	// Write writes the bytes. Once the first is on its way nothing can be refused
	// any more: an error breaks the answer off, so that nobody takes a part of it
	// for the whole.
	Write func(w io.Writer) error
}

// streamAnswer starts an answer that is made while it is sent.
func streamAnswer(s Stream, requestID string) answer {
	an := newAnswer(http.StatusOK, nil, requestID)
	an.stream = &s
	an.header.Del("Content-Length")
	an.header.Set("Content-Type", s.MediaType)
	an.header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": plainName(s.Name)}))
	return an
}

// writeStream sends the bytes; to HEAD it says only what they would be.
func (an answer) writeStream(w http.ResponseWriter, r *http.Request, refuse func(error) answer) {
	w.WriteHeader(an.status)
	if r.Method == http.MethodHead {
		return
	}
	if err := an.stream.Write(w); err != nil {
		if r.Context().Err() == nil {
			refuse(err) // for the log
		}
		panic(http.ErrAbortHandler)
	}
}
