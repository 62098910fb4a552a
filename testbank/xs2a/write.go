package xs2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"passerelle/testbank/bank"
)

// message is an error in the form tppMessages.
type message struct {
	Category string `json:"category"`
	Code     string `json:"code"`
	Path     string `json:"path,omitempty"`
	Text     string `json:"text,omitempty"`
}

// problem is an error in the form of RFC 7807.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code"`
}

// refuse responds with an error.
func (a *API) refuse(w http.ResponseWriter, err error) {
	var refusal *bank.Refusal
	if !errors.As(err, &refusal) {
		a.Log.Error("the bank failed", slog.Any("error", err))
		refusal = bank.Refuse("INTERNAL_SERVER_ERROR", "", "the bank has a fault of its own")
	}
	if refusal.Status == http.StatusTooManyRequests || refusal.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	if refusal.Code == "" {
		w.WriteHeader(refusal.Status)
		return
	}
	if a.Bank.Profile.Problems {
		detail := refusal.Text
		if refusal.Path != "" {
			detail = refusal.Path + ": " + detail
		}
		title := strings.ToLower(strings.ReplaceAll(refusal.Code, "_", " "))
		writeJSON(w, "application/problem+json", refusal.Status, problem{"urn:example-bank:" + refusal.Code, title, detail, refusal.Code})
		return
	}
	writeJSON(w, "application/json", refusal.Status, map[string]any{
		"tppMessages": []message{{"ERROR", refusal.Code, refusal.Path, refusal.Text}},
	})
}

func writeJSON(w http.ResponseWriter, media string, status int, body any) {
	encoded := encode(body)
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	w.Write(encoded) //nolint:errcheck // the caller may be gone
}

// encode encodes a body as JSON, without escaping ampersands. It returns the content of a document
// unchanged.
func encode(body any) []byte {
	if file, is := body.(document); is {
		return file.content
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		panic(err) // bodies consist of maps, texts and numbers
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// write writes the response. If the response has a fault, write spoils the response.
func (a *API) write(w http.ResponseWriter, r *http.Request, got answer) {
	if got.location != "" {
		w.Header().Set("Location", got.location)
	}
	if got.notify {
		w.Header().Set("ASPSP-Notification-Support", "true")
		w.Header().Set("ASPSP-Notification-Content", "status=PROCESS")
	}
	if got.approach != "" {
		w.Header().Set("ASPSP-SCA-Approach", approachName(got.approach))
	}
	if spoil, spoiled := spoilers[got.wire]; spoiled {
		spoil(a, w, r, got)
		return
	}
	plain(w, got)
}

// plain writes the response without a fault.
func plain(w http.ResponseWriter, got answer) {
	if got.body == nil {
		w.WriteHeader(got.status)
		return
	}
	if file, is := got.body.(document); is {
		w.Header().Set("Content-Type", file.media)
		w.WriteHeader(got.status)
		w.Write(file.content) //nolint:errcheck // the caller may be gone
		return
	}
	writeJSON(w, "application/json", got.status, got.body)
}

func approachName(approach bank.Approach) string {
	if approach == bank.OAuth {
		approach = bank.Redirect // the standard treats OAuth as a redirect
	}
	return strings.ToUpper(string(approach))
}

// These are the sizes of responses that are too large.
const (
	hugeAnswer = 1 << 30
	deepAnswer = 10 << 20
)

// spoilers maps faults to the functions that write spoilt responses. Some functions break the
// connection with a panic of http.ErrAbortHandler.
var spoilers = map[bank.Wire]func(*API, http.ResponseWriter, *http.Request, answer){
	bank.Slow: func(a *API, w http.ResponseWriter, r *http.Request, got answer) {
		if wait(r.Context(), a.SlowAnswer) == nil {
			plain(w, got)
		}
	},
	bank.Hang: func(_ *API, _ http.ResponseWriter, r *http.Request, _ answer) { <-r.Context().Done() },
	bank.Lost: func(*API, http.ResponseWriter, *http.Request, answer) { panic(http.ErrAbortHandler) },
	bank.Cut: func(_ *API, w http.ResponseWriter, _ *http.Request, got answer) {
		encoded := encode(got.body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
		w.WriteHeader(got.status)
		w.Write(encoded[:len(encoded)/2])     //nolint:errcheck // the caller may be gone
		http.NewResponseController(w).Flush() //nolint:errcheck // as above
		panic(http.ErrAbortHandler)
	},
	bank.Malformed: func(_ *API, w http.ResponseWriter, _ *http.Request, got answer) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(got.status)
		w.Write([]byte(`{"transactionStatus": "RC`)) //nolint:errcheck // the caller may be gone
	},
	bank.Huge: func(_ *API, w http.ResponseWriter, _ *http.Request, got answer) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(got.status)
		part := bytes.Repeat([]byte(" "), 1<<20)
		for written := 0; written < hugeAnswer; written += len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	},
	bank.Deep: func(_ *API, w http.ResponseWriter, _ *http.Request, got answer) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(got.status)
		w.Write(bytes.Repeat([]byte("["), deepAnswer/2)) //nolint:errcheck // the caller may be gone
		w.Write(bytes.Repeat([]byte("]"), deepAnswer/2)) //nolint:errcheck // as above
	},
	bank.Elsewhere: func(_ *API, w http.ResponseWriter, _ *http.Request, _ answer) {
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	},
}
