package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestUpdateOfAClientIsWhole changes several values of an application in one command. If one value
// is refused, the command must change nothing, not even the logo.
func TestUpdateOfAClientIsWhole(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		storeConnections(t, url)
		var picture bytes.Buffer
		if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
			t.Fatal(err)
		}
		logo := filepath.Join(t.TempDir(), "logo.png")
		writeFile(t, logo, picture.String())
		call := func(want int, args ...string) clientView {
			t.Helper()
			var out, diagnostics bytes.Buffer
			if got := run(t.Context(), append(append([]string{"client"}, args...), "--json", "--database", url), nil, &out, &diagnostics); got != want {
				t.Fatalf("%v exits with %d, want %d: %s", args, got, want, &diagnostics)
			}
			var view clientView
			if err := json.Unmarshal(out.Bytes(), &view); want == succeeded && err != nil {
				t.Fatal(err)
			}
			return view
		}
		id := fmt.Sprint(call(succeeded, "create", "--name", "shop").ID)
		secret := secretOf(t, url, id)
		for _, refused := range [][]string{{"--primary-color", "#ffffff"}, {"--name", " "}, {"--redirect-uri", "nowhere"}} {
			call(misused, append([]string{"update", id, "--reset-secret", "--logo", logo}, refused...)...)
			if shown := call(succeeded, "show", id); shown.IDLogo != 0 || shown.Name != "shop" || !bytes.Equal(secretOf(t, url, id), secret) {
				t.Errorf("after a refusal because of %s, the application is %+v", refused[0], shown)
			}
		}
		if made := call(succeeded, "update", id, "--reset-secret", "--logo", logo, "--name", "other"); made.IDLogo == 0 || made.Secret == "" || made.Name != "other" {
			t.Errorf("the command prints %+v", made)
		}
		if bytes.Equal(secretOf(t, url, id), secret) {
			t.Error("the secret is the same")
		}
		if shown := call(succeeded, "show", id); shown.IDLogo == 0 || shown.Name != "other" {
			t.Errorf("the application is %+v", shown)
		}
		var out bytes.Buffer
		if got := run(t.Context(), []string{"audit", "list", "--subject", "client:" + id, "--json", "--database", url}, nil, &out, t.Output()); got != succeeded {
			t.Fatalf("the list exits with %d", got)
		}
		for _, act := range []string{"create client", "change client", "reset client secret", "set logo of client"} {
			if strings.Count(out.String(), `"act":"`+act+`"`) != 1 {
				t.Errorf("%s is not recorded once in %s", act, &out)
			}
		}
		if strings.Count(out.String(), `"act":`) != 4 {
			t.Errorf("recorded is %s", &out)
		}
	})
}

// secretOf returns the stored hash of an application's secret in the first domain.
func secretOf(t *testing.T, url, id string) []byte {
	t.Helper()
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := db.Client(t.Context(), 1, passerelle.ClientID(number))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return client.SecretHash
}
