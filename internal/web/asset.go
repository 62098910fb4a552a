package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// AssetPath is the path at which Assets must be served.
const AssetPath = "/assets/"

//go:embed static
var static embed.FS

// asset is a file that browsers may cache. The address of an embedded file or a brand's style sheet
// contains a hash of the content.
type asset struct {
	name, address, kind string
	content             []byte
}

var assetKinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

var assets = readAssets()

func readAssets() []asset {
	entries, err := fs.ReadDir(static, "static")
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // cannot happen, because the build embeds the folder
	}
	var all []asset
	for _, entry := range entries {
		content, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(fmt.Sprintf("web: %v", err))
		}
		sum := sha256.Sum256(content)
		ending := path.Ext(entry.Name())
		hashed := strings.TrimSuffix(entry.Name(), ending) + "." + hex.EncodeToString(sum[:6]) + ending
		all = append(all, asset{name: entry.Name(), address: AssetPath + hashed, kind: assetKinds[ending], content: content})
	}
	return all
}

// Asset returns the address of an embedded file. The address changes with the file's content. Asset
// fails for an unknown name. A page with the wrong name of a file is therefore never sent.
func Asset(name string) (string, error) {
	for _, a := range assets {
		if a.name == name {
			return a.address, nil
		}
	}
	return "", fmt.Errorf("there is no asset %q", name)
}

// Assets serves the embedded files and the style sheets of brands, at AssetPath. An address always
// has the same content, so browsers may cache it for a year. Assets responds to all other addresses
// with 404.
func Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, a := range assets {
			if a.address == r.URL.Path {
				a.serve(w, r)
				return
			}
		}
		if serveBrand(w, r) {
			return
		}
		secure(w.Header())
		http.Error(w, "There is no such file.", http.StatusNotFound)
	})
}

// Picture responds with a picture. The address of the request must always have the same content,
// because browsers may cache it for a year. The headers prevent browsers from running a file that
// only looks like a picture.
func Picture(w http.ResponseWriter, r *http.Request, mediaType string, content []byte) {
	asset{kind: mediaType, content: content}.serve(w, r)
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Content-Type", a.kind)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.content))
}
