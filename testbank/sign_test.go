package testbank_test

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// sign signs a request as the implementation guidelines of the Berlin Group require. It uses the
// QSealC in the folder certs of the test bank.
func (w *fixture) sign(request *http.Request, h headers) {
	w.t.Helper()
	w.signAs(request, h, "qsealc")
}

func (w *fixture) signAs(request *http.Request, h headers, certificate string) {
	w.t.Helper()
	base := filepath.Join(w.data, "certs", certificate)
	pair, err := tls.LoadX509KeyPair(base+".pem", base+".key")
	if err != nil {
		w.t.Fatal(err)
	}
	var body []byte
	if request.Body != nil {
		if body, err = io.ReadAll(request.Body); err != nil {
			w.t.Fatal(err)
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	sum := sha256.Sum256(body)
	request.Header.Set("Digest", "SHA-256="+base64.StdEncoding.EncodeToString(sum[:]))
	request.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	for name, value := range h {
		request.Header.Set(name, value)
	}
	var names, lines []string
	for _, name := range []string{"digest", "x-request-id", "psu-id", "tpp-redirect-uri", "date"} {
		if value := request.Header.Get(name); value != "" {
			names, lines = append(names, name), append(lines, name+": "+value)
		}
	}
	text := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	key, _ := pair.PrivateKey.(*rsa.PrivateKey)
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, text[:])
	if err != nil {
		w.t.Fatal(err)
	}
	issuer := strings.ReplaceAll(pair.Leaf.Issuer.String(), " ", "%20")
	request.Header.Set("Signature", `keyId="SN=`+pair.Leaf.SerialNumber.Text(16)+`,CA=`+issuer+`",algorithm="rsa-sha256",headers="`+
		strings.Join(names, " ")+`",signature="`+base64.StdEncoding.EncodeToString(signature)+`"`)
	request.Header.Set("TPP-Signature-Certificate", base64.StdEncoding.EncodeToString(pair.Leaf.Raw))
}
