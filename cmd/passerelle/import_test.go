package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"passerelle/internal/uploads"
)

// userOfDev starts the service and returns its base URL and a file with the token of a new user.
func userOfDev(t *testing.T) (base, token string) {
	t.Helper()
	said, stop := started(t, "dev", "--json", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	t.Cleanup(func() { stop() })
	base = said["base_url"].(string)
	answer, err := http.PostForm(base+"/auth/init", url.Values{"client_id": {said["client_id"].(string)}, "client_secret": {said["client_secret"].(string)}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var made struct {
		Token string `json:"auth_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.Token == "" {
		t.Fatalf("no user: %d %v", answer.StatusCode, err)
	}
	token = filepath.Join(t.TempDir(), "token")
	writeFile(t, token, made.Token+"\n")
	return base, token
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestImportCommand(t *testing.T) {
	base, token := userOfDev(t)
	play(t, "testdata/beside/import.txtar", "BASE="+base, "TOKEN="+token)
}

// bucketOfTest returns a bucket on an S3 server in this process, and a file with its address.
func bucketOfTest(t *testing.T) (*s3mem.Backend, string) {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket(t.Context(), "files"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory, gofakes3.WithV4Auth(map[string]string{"someone": "something secret"})).Server())
	t.Cleanup(server.Close)
	address := filepath.Join(t.TempDir(), "bucket")
	writeFile(t, address, "s3://someone:something%20secret@"+strings.TrimPrefix(server.URL, "http://")+"/files/from/banks?tls=none\n")
	return memory, address
}

// Objects in a bucket are imported or refused, and moved. Objects outside of the prefix and in
// folders below it are ignored.
func TestWatchedBucket(t *testing.T) {
	base, token := userOfDev(t)
	memory, address := bucketOfTest(t)
	const head = "account,currency,date,amount\n"
	put := func(key, text string) {
		t.Helper()
		if _, err := memory.PutObject(t.Context(), "files", key, map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	}
	put("from/banks/a.csv", head+"77,CHF,2026-11-02,-10.00\n")
	put("from/banks/b.csv", head+"77,CHF,2026-11-31,-10.00\n")
	put("from/banks/below/c.csv", head)
	put("from/bankside.csv", head)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"import", "--base-url", base, "--token-file", token, "--watch", "--json", "--bucket-file", address}, nil, in, t.Output())
		in.Close()
	}()
	lines := json.NewDecoder(out)
	for _, want := range []struct {
		file, refused string
		fresh         int
	}{{"from/banks/a.csv", "", 1}, {"from/banks/b.csv", "file: line 2, date", 0}} {
		var r []uploads.Uploaded
		if err := lines.Decode(&r); err != nil || len(r) != 1 || r[0].File != want.file || r[0].New != want.fresh || !strings.HasPrefix(r[0].Refused, want.refused) {
			t.Errorf("%v %+v, want %+v", err, r, want)
		}
	}
	cancel()
	if status := <-exited; status != succeeded {
		t.Errorf("the status is %d", status)
	}
	all, err := memory.ListBucket(t.Context(), "files", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range all.Contents {
		names = append(names, object.Key)
	}
	slices.Sort(names)
	want := []string{"from/banks/below/c.csv", "from/banks/imported/a.csv", "from/banks/refused/b.csv", "from/banks/refused/b.csv.txt", "from/bankside.csv"}
	if !slices.Equal(names, want) {
		t.Errorf("the bucket has %q, want %q", names, want)
	}
}

// Files in a watched folder are imported or refused, and moved.
func TestWatchedFolder(t *testing.T) {
	base, token := userOfDev(t)
	folder := t.TempDir()
	const head = "account,currency,date,amount\n"
	writeFile(t, filepath.Join(folder, "a.csv"), head+"77,CHF,2026-11-02,-10.00\n")
	writeFile(t, filepath.Join(folder, "b.csv"), head+"77,CHF,2026-11-31,-10.00\n")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"import", "--base-url", base, "--token-file", token, "--watch", "--settle", "0s", "--json", folder}, nil, in, t.Output())
		in.Close()
	}()
	lines := json.NewDecoder(out)
	next := func() uploads.Uploaded {
		var r []uploads.Uploaded
		if err := lines.Decode(&r); err != nil || len(r) != 1 {
			t.Fatalf("%v %v", r, err)
		}
		return r[0]
	}
	if r := next(); filepath.Base(r.File) != "a.csv" || r.New != 1 || r.Refused != "" {
		t.Errorf("the first file: %+v", r)
	}
	if r := next(); filepath.Base(r.File) != "b.csv" || !strings.HasPrefix(r.Refused, "file: line 2, date") {
		t.Errorf("the second file: %+v", r)
	}
	writeFile(t, filepath.Join(folder, "a.csv"), head+"77,CHF,2026-11-02,-10.00\n77,CHF,2026-11-03,-1.00\n")
	if r := next(); r.New != 1 || r.Transactions != 2 {
		t.Errorf("a file of the same name: %+v", r)
	}
	cancel()
	if status := <-exited; status != succeeded {
		t.Errorf("the status is %d", status)
	}
	for name, want := range map[string]string{"imported/a.csv": head, "imported/a.csv.1": head, "refused/b.csv": head, "refused/b.csv.txt": "file: line 2, date"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %v %q", name, err, text)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.csv")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// After a user is deleted, the service refuses the user's token. TestWatchEndsWithItsToken checks
// that --watch then exits, and leaves new files in their place.
func TestWatchEndsWithItsToken(t *testing.T) {
	base, token := userOfDev(t)
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "a.csv"), "account,currency,date,amount\n77,CHF,2026-11-02,-10.00\n")
	out, in := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- run(t.Context(), []string{"import", "--base-url", base, "--token-file", token, "--watch", "--settle", "0s", "--json", folder}, nil, in, t.Output())
		in.Close()
	}()
	var first []uploads.Uploaded
	if err := json.NewDecoder(out).Decode(&first); err != nil || len(first) != 1 || first[0].New != 1 {
		t.Errorf("the first file: %v %+v", err, first)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, base+"/users/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("delete the user: %v %v", err, response)
	}
	response.Body.Close()
	writeFile(t, filepath.Join(folder, "b.csv"), "account,currency,date,amount\n77,CHF,2026-11-03,-10.00\n")
	if status := <-exited; status == succeeded {
		t.Errorf("the status is %d", status)
	}
	if _, err := os.Stat(filepath.Join(folder, "b.csv")); err != nil {
		t.Errorf("the file that was not imported: %v", err)
	}
}

// TestImportFails: the service fails after the previews, with the first file or a later one. The
// command prints the results of the files before as a list, which may be empty, and then fails.
func TestImportFails(t *testing.T) {
	token, folder := filepath.Join(t.TempDir(), "token"), t.TempDir()
	writeFile(t, token, "psl_usr_1")
	for _, name := range []string{"a.csv", "b.csv"} {
		writeFile(t, filepath.Join(folder, name), "text")
	}
	for imports, want := range map[int]string{0: "", 1: "a.csv"} {
		left := imports
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("preview") == "false" {
				if left--; left < 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}
			_, _ = io.WriteString(w, `{"message":"CSV","accounts":[]}`)
		}))
		var out strings.Builder
		status := run(t.Context(), []string{"import", "--base-url", service.URL + "/2.0", "--token-file", token, "--connection", "1", "--json", folder}, nil, &out, t.Output())
		service.Close()
		var all []uploads.Uploaded
		err := json.Unmarshal([]byte(out.String()), &all)
		var got []string
		for _, one := range all {
			got = append(got, filepath.Base(one.File))
		}
		if err != nil || all == nil || status != failed || strings.Join(got, " ") != want {
			t.Errorf("after %d files, the status is %d, and the output is %s", imports, status, &out)
		}
	}
}
