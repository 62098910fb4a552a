package webview_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/connector/statements"
	"passerelle/internal/servicetest"
)

const (
	november = "account,currency,date,amount,balance,wording\nFR7630006000011234567890189,EUR,2026-11-02,-10.00,90.00,Rent\nFR7630006000011234567890189,EUR,2026-11-03,5.00,95.00,Tea\n"
	// january begins with a balance that differs from the last balance of november.
	january = "account,currency,date,amount,balance,wording\nFR7630006000011234567890189,EUR,2027-01-02,-10.00,70.00,Rent\n"
	// corrected replaces the statement that issued has for the same days.
	issued    = ":20:A\n:25:FR7630006000011234567890189\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR110,00\n-\n"
	corrected = ":20:A\n:25:FR7630006000011234567890189\n:60F:C261031EUR100,00\n:61:261102C11,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR111,00\n-\n"

	damaged = "account,currency,date,amount,wording\nFR7630006000011234567890189,EUR,2026-11-31,-10.00,<b>Rent</b>\n"
)

func (p *walker) fileConnection() string {
	p.t.Helper()
	var out struct{ ID json.Number }
	p.JSON(p.OK(p.Call("POST", "/connections", p.token, map[string]any{"connector_uuid": statements.UUID})), &out)
	return out.ID.String()
}

// choose adds files to a form of the page and submits the form. The files are pairs of a name and a
// content.
func (p *walker) choose(s shown, step string, files ...string) shown {
	p.t.Helper()
	action, form := p.form(s, step)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, input := range carried.FindAllStringSubmatch(s.body[strings.Index(s.body, `value="`+step+`"`):], -1) {
		if input[1] == "csrf" {
			break // the next form begins here
		}
		must(p.t, w.WriteField(input[1], html.UnescapeString(input[2])))
	}
	must(p.t, w.WriteField("csrf", form.Get("csrf")))
	must(p.t, w.WriteField("step", step))
	for i := 0; i < len(files); i += 2 {
		part, err := w.CreateFormFile("file", files[i])
		must(p.t, err)
		_, err = part.Write([]byte(files[i+1]))
		must(p.t, err)
	}
	must(p.t, w.Close())
	to, err := s.at.Parse(action)
	must(p.t, err)
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, to.String(), &body)
	must(p.t, err)
	request.Header.Set("Content-Type", w.FormDataContentType())
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.follow(request)
}

func (p *walker) transactions() int {
	p.t.Helper()
	var out struct{ Accounts []struct{ ID json.Number } }
	p.JSON(p.OK(p.Call("GET", "/accounts", p.token, nil)), &out)
	if len(out.Accounts) == 0 {
		return 0
	}
	var list struct{ Total int }
	p.JSON(p.OK(p.Call("GET", "/transactions?limit=1", p.token, nil)), &list)
	return list.Total
}

// Without scripts, a person first sees the contents of the files, and then imports them.
func TestFilesAreHandedOver(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.fileConnection()
		p.open(p.link("manage")).shows(t, "Statement files", "No files imported yet").lacks(t, "Updated on")
		page := p.open(p.link("manage", "connection_id", id)).shows(t, "Import statement files", "No files imported yet").lacks(t, "Updated on")
		page = p.click(page, "Import statement files").shows(t, "Choose files that you downloaded", "At most 20 files, 8 MB in total")
		preview := p.choose(page, "preview", "november.csv", november).shows(t, "november.csv", "FR76 3000 6000 0112 3456 7890 189", "2, of which 2 new", "November", "€95.00", "Import these files")
		if n := p.transactions(); n != 0 {
			t.Errorf("a preview stored %d transactions", n)
		}
		done := p.choose(preview, "import").shows(t, "The files were imported.", `<div class="acknowledged" role="status">`).lacks(t, "Import these files")
		if n := p.transactions(); n != 2 {
			t.Errorf("%d transactions are stored", n)
		}
		p.choose(done, "preview", "january.csv", january, "november.csv", november).shows(t, "Something is missing between 3 November 2026 and 1 January 2027: -€15.00 in total.", "2, of which 0 new")
		p.click(done, "Back to the connection").shows(t, "Import statement files", " checked", "Until you stop sharing.").lacks(t, "asks you again", "FR7630006000011234567890189", "No files imported yet")
		p.open(p.link("manage")).shows(t, "Statement files", "Current account …\u20600189", "Updated on").lacks(t, "FR76")
		p.open(strings.Replace(p.link("manage"), "/en/", "/de/", 1)).shows(t, "Konto\u00adauszugs\u00addateien", ">Ko</span>").lacks(t, "Statement files")
	})
}

// The list names the accounts of a page of accounts. It knows also of later accounts that their files
// were imported.
func TestFilesOfAPersonWithThousandAccounts(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		half := func(prefix string) string {
			rows := strings.SplitAfter(november, "\n")[0]
			for n := range 500 {
				rows += fmt.Sprintf("%s%05d,EUR,2026-11-02,-10.00,90.00,Rent\n", prefix, n)
			}
			return rows
		}
		for _, file := range []string{half("A"), half("B"), november} {
			page := p.click(p.open(p.link("manage", "connection_id", p.fileConnection())), "Import statement files")
			p.choose(p.choose(page, "preview", "november.csv", file), "import").shows(t, "The files were imported.")
		}
		p.open(p.link("manage")).shows(t, "Updated on").lacks(t, "No files imported yet")
	})
}

// A corrected statement removes stored transactions. The page says so in a sentence of its own.
func TestFilesThatCorrectOthers(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		page := p.click(p.open(p.link("manage", "connection_id", p.fileConnection())), "Import statement files")
		page = p.choose(p.choose(page, "preview", "issued.sta", issued), "import")
		p.choose(page, "preview", "corrected.sta", corrected).shows(t, "<dd>1, of which 1 new. A correction removes 1.</dd>")
	})
}

// When the service refuses one file, it does not import the other files. The page shows the reason,
// and escapes the file's name.
func TestFilesThatAreRefused(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.fileConnection()
		page := p.click(p.open(p.link("manage", "connection_id", id)), "Import statement files")
		refused := p.choose(page, "preview", "november.csv", november, "<b>.csv", damaged).shows(t, "This file cannot be imported", "A value does not have the right format. (Line 2, field date.)").lacks(t, "Import these files", "Rent")
		if strings.Contains(refused.body, "<b>.csv") {
			t.Error("the name of the file is code")
		}
		forged := page
		forged.body = strings.ReplaceAll(page.body, `value="preview"`, `value="import"`)
		p.choose(forged, "import", "november.csv", november, "damaged.csv", damaged).shows(t, "This file cannot be imported")
		wantMarked(t, p.choose(page, "preview").shows(t, "Choose a file first.").body, "file")
		p.choose(page, "preview", "large.csv", strings.Repeat("x", 9<<20)).shows(t, "These files are too many or too large")
		if a := p.choose(page, "preview", "large.csv", strings.Repeat("x", 17<<20)); a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("a form of 17 MB: %d", a.status)
		}
		if n := p.transactions(); n != 0 {
			t.Errorf("%d transactions are stored", n)
		}
		// Connections to institutions accept no files. The service refuses forms from other
		// browsers.
		other := p.click(p.open(p.link("manage", "connection_id", p.connection("anna"))).lacks(t, "Import statement"), "Remove this connection")
		other.body = strings.ReplaceAll(other.body, `value="forget"`, `value="preview"`)
		if a := p.choose(other, "preview", "november.csv", november); a.status < 400 {
			t.Errorf("a connection to an institution: %d", a.status)
		}
		stranger := newWalker(t, p.Instance)
		if a := stranger.choose(page, "preview", "november.csv", november); a.status < 400 {
			t.Errorf("another browser: %d", a.status)
		}
	})
}

// The service checks several files as if it imported one after the other. A transaction in two
// files counts as new once. A refused file does not change the result of the files after it.
func TestFilesTogether(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		const december = "account,currency,date,amount,balance,wording\nFR7630006000011234567890189,EUR,2026-12-01,-15.00,80.00,Salt\n"
		other := ":20:A\n:25:FR7630006000011234567890189\n:60F:C261231EUR70,00\n:62F:C270101EUR70,00\n-\n"
		page := p.click(p.open(p.link("manage", "connection_id", p.fileConnection())), "Import statement files")
		p.choose(page, "preview", "a.csv", november, "b.csv", january, "c.csv", november, "d.csv", december).
			shows(t, "2, of which 2 new", "1, of which 1 new", "2, of which 0 new", "Import these files").lacks(t, "Something is missing")
		p.choose(page, "preview", "a.csv", november, "b.csv", january).shows(t, "Something is missing between 3 November 2026 and 1 January 2027: -€15.00 in total.")
		unbalanced := strings.Replace(november, "95.00", "96.00", 1)
		p.choose(page, "preview", "a.csv", unbalanced, "b.csv", november).shows(t, "This file cannot be imported", "2, of which 2 new")
		p.choose(page, "preview", "a.csv", november, "b.sta", other).shows(t, "This account already has transactions from files in another format.").lacks(t, "Import these files")
		other = ":20:A\n:25:FR1420041010050500013M02606\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR110,00\n-\n"
		p.choose(page, "preview", "a.csv", november, "b.sta", other).shows(t, "from files in another format.").lacks(t, "Import these files")
		if n := p.transactions(); n != 0 {
			t.Errorf("%d transactions are stored", n)
		}
	})
}

func TestRefusalsInALanguage(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		id := p.fileConnection()
		for _, c := range []struct{ name, file, want string }{
			{"a.zip", "PK\x03\x04", "Sie ist ein Archiv, ein PDF oder eine Tabelle."},
			{"a.txt", "", "Sie enthält keine Umsätze."},
			{"a.xml", "<Document>", "Sie ist beschädigt oder unvollständig."},
			{"a.csv", "date,amount\n2026-11-02,1.00\n", "Sie nennt ihr Konto und dessen Währung nicht. (Zeile 2, Feld account.)"},
			{"b.csv", strings.Replace(november, "95.00", "96.00", 1), "Ihre Umsätze passen nicht zu Anfangs- und Endsaldo."},
			{"c.txt", "hello", "Sie hat keines der unterstützten Formate"},
		} {
			page := p.click(p.open(strings.Replace(p.link("manage", "connection_id", id), "/en/", "/de/", 1)), "Kontoauszüge")
			p.choose(page, "preview", c.name, c.file).shows(t, c.want)
		}
	})
}

func TestFilesInABrowser(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"november.csv": november, "january.csv": january, "damaged.csv": damaged} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	for _, w := range append(slices.Clone(windows), window{"small", "de", 320, 640}) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := startBrowserWalker(t, w)
			console := servicetest.Listen(p.ctx, t)
			p.enter(w, "manage", "connection_id", p.fileConnection())
			p.see(`a[href*="step=files"]`, "files-link")
			p.do(chromedp.Click(`a[href*="step=files"]`))
			p.see(step("preview"), "files")
			p.do(chromedp.SetUploadFiles(`#file`, []string{filepath.Join(folder, "november.csv"), filepath.Join(folder, "january.csv")}), chromedp.Click(step("preview")+` button`))
			p.see(step("import"), "files-preview")
			p.do(chromedp.Click(step("import") + ` button`))
			p.see(`.acknowledged[role=status]`, "files-done")
			p.do(chromedp.SetUploadFiles(`#file`, []string{filepath.Join(folder, "damaged.csv")}), chromedp.Click(step("preview")+` button`))
			p.see(`.problem`, "files-refused")
			console.Silent(t)
		})
	}
}
