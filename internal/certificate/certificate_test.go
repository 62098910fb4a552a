package certificate_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"passerelle/internal/certificate"
)

func sample(accounts int) certificate.Certificate {
	made := time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)
	c := certificate.Certificate{Institution: "Banque d'Île-de-France", Made: made}
	for range accounts {
		c.Accounts = append(c.Accounts, certificate.CertifiedAccount{
			Name: "Compte chèques", Currency: "EUR", IBAN: "FR7630001000010012345678900", BIC: "SBOXFRPP", Consent: made.AddDate(0, -1, 0),
			Holders: []certificate.Holder{{"Jeanne Łukasiewicz-Ωμέγα", "holder"}, {"Николай Петров", "co_holder"}},
		})
	}
	return c
}

func written(t *testing.T, c certificate.Certificate) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// shown returns the text on a file's pages. The PDF library stores this text as UTF-16 in
// compressed streams.
func shown(t *testing.T, pdf []byte) string {
	t.Helper()
	var all []byte
	for _, piece := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		stream, err := zlib.NewReader(bytes.NewReader(piece))
		if err != nil {
			continue // the end of the previous object, or the data of a font
		}
		text, err := io.ReadAll(stream)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	plain := strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`, `\r`, "\r").Replace(string(all))
	return plain
}

func encoded(text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.BigEndian.AppendUint16(b, unit)
	}
	return string(b)
}

// TestEverythingIsOnThePages checks that the pages show all certified data of twelve accounts, in
// Latin, Greek and Cyrillic script.
func TestEverythingIsOnThePages(t *testing.T) {
	c := sample(12)
	c.Accounts[11].IBAN, c.Accounts[11].Number, c.Accounts[11].BIC, c.Accounts[11].Holders[0].Role = "", "40-47-84 70872490", "", "unknown"
	got := shown(t, written(t, c))
	for text, want := range map[string]int{
		"Certificate of account ownership": 1, "Banque d'Île-de-France": 1, "2026-11-20 09:15 UTC": 1, "Compte chèques": 12, "Jeanne Łukasiewicz-Ωμέγα": 12,
		"Николай Петров": 12, "Co holder": 12, "Named": 1, "FR76 3000 1000 0100 1234 5678 900": 11, "SBOXFRPP": 11, "BIC": 11, "40-47-84 70872490": 1, "2026-10-20 09:15 UTC": 12, "Page 3": 1,
	} {
		if n := strings.Count(got, encoded(text)); n != want {
			t.Errorf("%q is shown %d times, want %d", text, n, want)
		}
	}
}

// TestCharactersAboveFFFF checks that names with emoji and rare ideographs do not make a
// certificate fail.
func TestCharactersAboveFFFF(t *testing.T) {
	c := sample(1)
	c.Institution, c.Accounts[0].Name, c.Accounts[0].Holders[0].Name = "\U00010000", "💰 Épargne", "𠮷田"
	got := shown(t, written(t, c))
	for _, text := range []string{"\ufffd Épargne", "\ufffd田"} {
		if !strings.Contains(got, encoded(text)) {
			t.Errorf("%q is not shown", text)
		}
	}
}

func TestCertificateIsDeterministic(t *testing.T) {
	once, twice := written(t, sample(2)), written(t, sample(2))
	if !bytes.Equal(once, twice) || !bytes.HasPrefix(once, []byte("%PDF-")) {
		t.Errorf("%d bytes, then %d others", len(once), len(twice))
	}
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAWriterThatFails(t *testing.T) {
	if err := sample(1).Write(full{}); !errors.Is(err, errFull) {
		t.Errorf("it says %v", err)
	}
	if err := sample(1).Write(io.Discard); err != nil {
		t.Error(err)
	}
}
