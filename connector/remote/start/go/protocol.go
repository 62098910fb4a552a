//go:build ignore

// The connector protocol over HTTP: signatures, responses and streams.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// secret is the secret that this program shares with Passerelle. It has 32 to 256 characters.
var secret = []byte(os.Getenv("SECRET"))

// commandLine returns the port and the folder of the command line.
func commandLine() (port, folder string) {
	if len(os.Args) == 3 && len(secret) >= 32 && len(secret) <= 256 {
		if stat, err := os.Stat(os.Args[2]); err == nil && stat.IsDir() {
			return os.Args[1], os.Args[2]
		}
	}
	fmt.Fprintf(os.Stderr, "usage: SECRET=... %s PORT FOLDER; SECRET has 32 to 256 characters, and FOLDER exists\n", os.Args[0])
	os.Exit(2)
	return "", ""
}

func sign(parts ...string) hash.Hash {
	sum := hmac.New(sha256.New, secret)
	for _, part := range parts {
		io.WriteString(sum, part+"\n")
	}
	return sum
}

// must ends the call when there is an error. The caller then sees that the response is incomplete
// and the outcome unknown.
func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// object is a JSON object to send.
type object = map[string]any

// call handles a body. It returns the response, or it sends the lines of a stream and returns nil.
type call func(body []byte, send func(object)) object

// page handles a request of a browser. The form is empty for a GET. The page returns HTML or an
// address to redirect to, and false for an unknown path.
type page func(path string, form map[string][]string) (string, bool)

var seen = struct {
	sync.Mutex
	until map[string]time.Time
}{until: map[string]time.Time{}}

// isNew reports whether the time of a request differs from the present by at most five minutes
// and its nonce is new. It then remembers the nonce.
func isNew(stamp, nonce string) bool {
	seen.Lock()
	defer seen.Unlock()
	now := time.Now()
	for old, until := range seen.until {
		if until.Before(now) {
			delete(seen.until, old)
		}
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute || nonce == "" || !seen.until[nonce].IsZero() {
		return false
	}
	seen.until[nonce] = now.Add(10 * time.Minute)
	return true
}

// serve serves the calls by their names, and the page.
func serve(port string, calls map[string]call, show page) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	must(err)
	fmt.Println(port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, called := strings.CutPrefix(r.URL.Path, "/v1/")
		if !called {
			serveBrowser(w, r, show)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		stamp, nonce := r.Header.Get("Passerelle-Timestamp"), r.Header.Get("Passerelle-Nonce")
		right := sign("request", r.Method, r.URL.EscapedPath(), stamp, nonce)
		right.Write(body)
		signature, _ := hex.DecodeString(r.Header.Get("Passerelle-Signature"))
		if err != nil || !hmac.Equal(right.Sum(nil), signature) || !isNew(stamp, nonce) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if calls[name] == nil {
			http.NotFound(w, r)
			return
		}
		answer(w, calls[name], body, nonce)
	})))
}

// answer executes a call and signs the response that the call returns or sends. After a panic the
// response is incomplete.
func answer(w http.ResponseWriter, serve call, body []byte, nonce string) {
	sum := sign("answer", "200", nonce)
	line := func(one object) {
		raw, err := json.Marshal(one)
		must(err)
		sum.Write(append(raw, '\n'))
		w.Write(append(raw, '\n'))
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	whole := serve(body, line)
	if whole == nil {
		json.NewEncoder(w).Encode(object{"signature": hex.EncodeToString(sum.Sum(nil))})
		return
	}
	raw, err := json.Marshal(whole)
	must(err)
	sum.Write(raw)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Passerelle-Signature", hex.EncodeToString(sum.Sum(nil)))
	w.Write(raw)
}

func serveBrowser(w http.ResponseWriter, r *http.Request, show page) {
	if r.ParseForm() != nil || show == nil {
		http.NotFound(w, r)
		return
	}
	answer, found := show(r.URL.EscapedPath(), r.PostForm)
	switch {
	case !found:
		http.NotFound(w, r)
	case strings.HasPrefix(answer, "http"):
		http.Redirect(w, r, answer, http.StatusSeeOther)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, answer)
	}
}
