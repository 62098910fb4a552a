// Package certificate writes certificates of account ownership as PDF.
//
// The package owns the form of the page. It does not decide who may have a certificate, and stores
// no certificate. Equal certificates give equal files, byte for byte. The package fails only when
// the writer fails.
package certificate

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
)

// Certificate contains the data that a certificate confirms.
type Certificate struct {
	// Institution is the institution that holds the accounts.
	Institution string
	Accounts    []CertifiedAccount
	// Made is the time at which the certificate is made. The page shows it in the time zone of this
	// value.
	Made time.Time
}

// CertifiedAccount is a payment account that the user shares.
type CertifiedAccount struct {
	Name     string
	Currency string
	// IBAN is empty for an account with a different kind of number, which is in Number.
	IBAN, BIC, Number string
	Holders           []Holder
	// Consent is the time at which the user agreed to share the account.
	Consent time.Time
}

// Holder is a person with a role in an account.
type Holder struct {
	Name string
	// Role is a word of the API, such as holder or attorney.
	Role string
}

// These are the distances on the page, in millimetres, and the sizes of the fonts, in points.
const (
	margin    = 22.0
	labels    = 42.0
	line      = 7.0
	titleSize = 20.0
	headSize  = 12.0
	textSize  = 10.5
	smallSize = 8.5
)

// Write writes the certificate as a PDF with as many pages as necessary.
func (c Certificate) Write(w io.Writer) error {
	p := &page{fpdf.New("P", "mm", "A4", "")}
	p.AddUTF8FontFromBytes("go", "", goregular.TTF)
	p.AddUTF8FontFromBytes("go", "B", gobold.TTF)
	p.SetMargins(margin, margin, margin)
	p.SetAutoPageBreak(true, margin+line)
	p.SetCatalogSort(true)
	p.SetCreationDate(c.Made)
	p.SetModificationDate(c.Made)
	p.SetProducer("Passerelle", true)
	p.SetTitle("Certificate of account ownership", true)
	p.SetFooterFunc(p.foot)
	p.AddPage()
	p.text("B", titleSize, "Certificate of account ownership")
	p.Ln(line)
	p.fact("Institution", c.Institution)
	p.fact("Made on", stamp(c.Made))
	p.Ln(line / 2)
	p.text("", textSize, "The institution named above provided this information at the request of the account holder and with the holder's consent, through the interface by which the holder shares the accounts.")
	for _, a := range c.Accounts {
		p.account(a)
	}
	return p.Output(w)
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

type page struct{ *fpdf.Fpdf }

func (p *page) account(a CertifiedAccount) {
	p.Ln(line)
	p.SetDrawColor(150, 150, 150)
	x, y := p.GetXY()
	p.Line(x, y, 210-margin, y)
	p.Ln(line / 2)
	p.text("B", headSize, a.Name)
	for _, h := range a.Holders {
		p.fact(role(h.Role), h.Name)
	}
	if a.IBAN != "" {
		p.fact("IBAN", grouped(a.IBAN))
	} else {
		p.fact("Account number", a.Number)
	}
	p.fact("BIC", a.BIC)
	p.fact("Currency", a.Currency)
	p.fact("Consent given on", stamp(a.Consent))
}

// role returns the printed text for a role, which is a word of the API.
func role(word string) string {
	if word == "" || word == "unknown" {
		return "Named"
	}
	word = strings.ReplaceAll(word, "_", " ")
	return strings.ToUpper(word[:1]) + word[1:]
}

// grouped returns an IBAN in groups of four characters. ISO 13616 defines this printed form.
func grouped(iban string) string {
	var groups []string
	for ; len(iban) > 4; iban = iban[4:] {
		groups = append(groups, iban[:4])
	}
	return strings.Join(append(groups, iban), " ")
}

// fact writes a label and its value. It writes nothing when the value is empty.
func (p *page) fact(label, value string) {
	if value == "" {
		return
	}
	p.SetFont("go", "", textSize)
	p.SetTextColor(90, 90, 90)
	p.CellFormat(labels, line, label, "", 0, "L", false, 0, "")
	p.SetTextColor(0, 0, 0)
	p.wrapped(line, value)
}

func (p *page) text(style string, size float64, text string) {
	p.SetFont("go", style, size)
	p.SetTextColor(0, 0, 0)
	p.wrapped(size*0.55, text)
}

// wrapped writes a text with line breaks. Names may contain characters above U+FFFF, such as emoji.
// The PDF library fails for these characters, so wrapped writes U+FFFD instead.
func (p *page) wrapped(height float64, text string) {
	p.MultiCell(0, height, strings.Map(func(r rune) rune { return min(r, utf8.RuneError) }, text), "", "L", false)
}

func (p *page) foot() {
	p.SetY(-margin)
	p.SetFont("go", "", smallSize)
	p.SetTextColor(90, 90, 90)
	p.CellFormat(0, line, fmt.Sprintf("Page %d", p.PageNo()), "", 0, "R", false, 0, "")
}
