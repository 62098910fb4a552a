package xs2a

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// maxSkew is how far the Date of a signed request may be from the bank's clock.
const maxSkew = 5 * time.Minute

// signable lists the headers that a signature must cover when a request has them. Every request
// must have the first two (section 12.2 of the guidelines).
var signable = []string{"digest", "x-request-id", "psu-id", "psu-corporate-id", "date", "tpp-redirect-uri"}

var parameterPattern = regexp.MustCompile(`([a-zA-Z]+)="([^"]*)"`)

// checkSignature verifies the signature of a request. It also checks that the signature comes from
// the owner of the connection's certificate.
func (a *API) checkSignature(r *http.Request, body []byte, connection *x509.Certificate) error {
	header := r.Header.Get("Signature")
	if header == "" {
		return bank.Refuse("SIGNATURE_MISSING", "Signature", "the bank requires signed requests")
	}
	certificate, err := a.sealOf(r)
	if err != nil {
		return err
	}
	if eidas.Organization(certificate) != eidas.Organization(connection) {
		return bank.Refuse("CERTIFICATE_INVALID", "TPP-Signature-Certificate", "it is another's than that of the connection")
	}
	if err := checkDigest(r.Header.Get("Digest"), body); err != nil {
		return err
	}
	parameters := map[string]string{}
	for _, match := range parameterPattern.FindAllStringSubmatch(header, -1) {
		parameters[match[1]] = match[2]
	}
	if err := checkCovered(r, parameters); err != nil {
		return err
	}
	if !namesKey(parameters["keyId"], certificate) {
		return bank.Refuse("SIGNATURE_INVALID", "Signature", "keyId is not the serial number and issuer of the certificate")
	}
	if !verifies(r, parameters, certificate) {
		return bank.Refuse("SIGNATURE_INVALID", "Signature", "it does not verify")
	}
	return a.checkDate(r.Header.Get("Date"))
}

// sealOf reads the certificate of the key that signed the request.
func (a *API) sealOf(r *http.Request) (*x509.Certificate, error) {
	const name = "TPP-Signature-Certificate"
	text := r.Header.Get(name)
	if text == "" {
		return nil, bank.Refuse("CERTIFICATE_MISSING", name, "a signed request brings its certificate")
	}
	encoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if block, _ := pem.Decode(encoded); block != nil {
		encoded = block.Bytes
	}
	certificate, parseErr := x509.ParseCertificate(encoded)
	if err != nil || parseErr != nil {
		return nil, bank.Refuse("CERTIFICATE_INVALID", name, "it cannot be read")
	}
	return certificate, refusalOf(eidas.Judge(certificate, eidas.Seal, a.Authorities, a.Clock()))
}

func checkDigest(header string, body []byte) error {
	algorithm, value, _ := strings.Cut(header, "=")
	short, long := sha256.Sum256(body), sha512.Sum512(body)
	sum := map[string][]byte{"SHA-256": short[:], "SHA-512": long[:]}[algorithm]
	supplied, err := base64.StdEncoding.DecodeString(value)
	switch {
	case header == "":
		return bank.Refuse("FORMAT_ERROR", "Digest", "a signed request has a digest")
	case sum == nil || err != nil:
		return bank.Refuse("FORMAT_ERROR", "Digest", "a digest is SHA-256= or SHA-512= and base64")
	case subtle.ConstantTimeCompare(sum, supplied) != 1:
		return bank.Refuse("SIGNATURE_INVALID", "Digest", "it is not that of the body")
	}
	return nil
}

// checkCovered checks that the signature covers the required headers.
func checkCovered(r *http.Request, parameters map[string]string) error {
	covered := strings.Fields(strings.ToLower(parameters["headers"]))
	for i, name := range signable {
		if (i < 2 || r.Header.Get(name) != "") && !slices.Contains(covered, name) {
			return bank.Refuse("SIGNATURE_INVALID", "Signature", "it does not cover "+name)
		}
	}
	return nil
}

// namesKey reports whether a keyId names a certificate. The keyId has the form SN=serial,CA=issuer,
// with the serial number in hexadecimal and %20 for spaces.
func namesKey(keyID string, c *x509.Certificate) bool {
	serial, issuer, _ := strings.Cut(strings.TrimPrefix(keyID, "SN="), ",CA=")
	number, ok := new(big.Int).SetString(serial, 16)
	return ok && number.Cmp(c.SerialNumber) == 0 && strings.ReplaceAll(issuer, "%20", " ") == c.Issuer.String()
}

func verifies(r *http.Request, parameters map[string]string, c *x509.Certificate) bool {
	var lines []string
	for _, name := range strings.Fields(parameters["headers"]) {
		lines = append(lines, strings.ToLower(name)+": "+r.Header.Get(name))
	}
	text := []byte(strings.Join(lines, "\n"))
	signature, err := base64.StdEncoding.DecodeString(parameters["signature"])
	key, ok := c.PublicKey.(*rsa.PublicKey)
	if err != nil || !ok {
		return false
	}
	short, long := sha256.Sum256(text), sha512.Sum512(text)
	switch strings.ToLower(parameters["algorithm"]) {
	case "rsa-sha256":
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, short[:], signature) == nil
	case "rsa-sha512":
		return rsa.VerifyPKCS1v15(key, crypto.SHA512, long[:], signature) == nil
	}
	return false
}

func (a *API) checkDate(header string) error {
	if header == "" {
		return nil
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return bank.Refuse("FORMAT_ERROR", "Date", "it is not a date of HTTP")
	}
	if skew := a.Clock().Sub(date); skew.Abs() > maxSkew {
		return bank.Refuse("TIMESTAMP_INVALID", "Date", "it is more than 5 minutes from the bank's time")
	}
	return nil
}
