package webview

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/httpd"
	"passerelle/internal/imports"
	"passerelle/internal/web"
	"passerelle/statementfile"
)

// stepFiles is the value of the step parameter when the person wants to upload statement files.
const stepFiles = "files"

// These limits apply to one upload. The service stores nothing before the person confirms, so the
// page that shows the contents sends the files again.
const (
	maxFiles     = 20
	maxFileBytes = 8 << 20
	maxFileForm  = 2 * maxFileBytes
	megabyte     = 1 << 20
)

// filesBody is the content of the page on which a person uploads statement files.
type filesBody struct {
	flowBody
	// Limit is the text about the largest number and size of files. Files lists the chosen files.
	// Import is set when the person can import them, and Done when the service has imported them.
	Limit        string
	Files        []shownFile
	Import, Done bool
}

// shownFile describes a file on the page. Refused says why the service refuses the file, and Where
// names the line and the field of the mistake. Content is the file in base64.
type shownFile struct {
	Name, Refused, Where, Content string
	Accounts                      []shownFileAccount
}

// shownFileAccount describes an account of a file on the page.
type shownFileAccount struct {
	Name, Period, Counts, Balance string
	Disabled                      bool
	Gaps                          []string
}

// handed is one file in a form that the browser sent.
type handed struct {
	name    string
	content []byte
}

// handOver shows the page on which a person chooses files.
func (w *Webview) handOver(pc *pageContext, s *flowConnection, files []shownFile, done bool) error {
	body := filesBody{flowBody: pc.body(s.flowSession, "files"), Files: files, Done: done, Limit: pc.words.Say("files.limit", maxFiles, maxFileBytes/megabyte)}
	body.Action, body.Back, body.Import = s.address(pc, "step", stepFiles), s.address(pc), len(files) > 0 && !done
	body.Text = pc.words.Say("files.text", s.client.Name)
	for _, f := range files {
		body.Import = body.Import && f.Refused == ""
	}
	return pages.Send(pc.writer, w.flowPage(pc, s.flowSession, "files", body.Title, body))
}

// takesFiles reports whether a person can upload files on the page of a connection.
func (s *flowConnection) takesFiles() bool { return s.Flow == flowManage && imports.Takes(s.c) }

// hasFiles reports whether a form may contain files. The service reads such a form only when the
// person of a flow sends it.
func hasFiles(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "multipart/form-data"
}

// replyWithFiles reads a form with files. It shows the contents of the files. Once the person has
// confirmed, it imports the files.
func (w *Webview) replyWithFiles(pc *pageContext) error {
	if web.Forged(pc.request) {
		return errStrange
	}
	t, err := w.findFlow(pc, pc.request.URL.Query().Get(handleParameter))
	if err != nil {
		return w.refuseLink(pc, t, err)
	}
	pc.request.Body = httpd.Bounded(pc.writer, pc.request.Body, maxFileForm)
	form, files, err := readFiles(pc.request)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return errTooLarge
	case errors.Is(err, passerelle.Unavailable):
		return err
	case err != nil:
		return errForm
	case !t.ownsForm(form):
		return errStrange
	}
	id, err := t.about(pc)
	if err != nil || id == 0 || t.User == 0 {
		return errUnread
	}
	s, err := w.loadConnection(pc, t, id)
	if err != nil {
		return err
	}
	if !s.takesFiles() {
		return errUnread
	}
	return w.takeFiles(pc, s, form.Get("step") == "import", files)
}

// maxFileParts is larger than the number of parts in a form with maxFiles files.
const maxFileParts = 2*maxFiles + 10

// readFiles reads the fields and files of a form. A file that the page sends again is in two
// fields: name, and then content in base64.
func readFiles(r *http.Request) (url.Values, []handed, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, nil, err
	}
	form, files := url.Values{}, []handed(nil)
	for range maxFileParts {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means that the body was cut off, a bare EOF that it is complete
			return form, files, nil
		}
		if err != nil {
			return nil, nil, err
		}
		file, isFile, err := readPart(part, form)
		if err != nil {
			return nil, nil, err
		}
		if isFile {
			files = append(files, file)
		}
	}
	return nil, nil, errForm
}

func readPart(part *multipart.Part, form url.Values) (handed, bool, error) {
	content, err := io.ReadAll(part)
	switch name := part.FormName(); {
	case err != nil:
		return handed{}, false, err
	case part.FileName() != "":
		return handed{part.FileName(), content}, true, nil
	case name == "content":
		content, err = base64.StdEncoding.DecodeString(string(content))
		return handed{form.Get("name"), content}, true, err
	case name != "file": // an empty field named file means that the person chose no file
		form.Set(name, string(content))
	}
	return handed{}, false, nil
}

// takeFiles shows the contents of files, or imports the files in the order of the form. When one
// file is refused, it imports no file.
func (w *Webview) takeFiles(pc *pageContext, s *flowConnection, confirmed bool, files []handed) error {
	size := 0
	for _, f := range files {
		size += len(f.content)
	}
	switch {
	case len(files) == 0:
		pc.problem.key = "files.none"
	case len(files) > maxFiles || size > maxFileBytes:
		pc.problem.key = "files.many"
	}
	if pc.problem.key != "" {
		return w.handOver(pc, s, nil, false)
	}
	handedOver := make([]imports.File, len(files))
	for n, f := range files {
		handedOver[n] = imports.File{User: s.User, Connection: s.c.ID, Name: f.name, Content: bytes.NewReader(f.content)}
	}
	checked, done, err := w.checkFiles(pc, confirmed, handedOver)
	if err != nil {
		return err
	}
	shown := make([]shownFile, len(files))
	for n, c := range checked {
		shown[n] = pc.shownFile(files[n], c)
	}
	return w.handOver(pc, s, shown, done)
}

// checkFiles checks files together. It imports them if the person has confirmed and none is refused.
func (w *Webview) checkFiles(pc *pageContext, confirmed bool, files []imports.File) ([]imports.CheckedFile, bool, error) {
	use := &imports.Imports{DB: w.DB, Aggregation: w.Aggregation}
	checked, err := use.CheckAll(pc.context(), pc.domain, files...)
	if err != nil {
		return nil, false, err
	}
	if !confirmed || slices.ContainsFunc(checked, func(c imports.CheckedFile) bool { return c.Refused != nil }) {
		return checked, false, nil
	}
	for _, f := range files {
		if _, err := use.Import(pc.context(), pc.domain, f); err != nil {
			return nil, false, fmt.Errorf("import a statement file for connection %d: %w", f.Connection, err)
		}
	}
	return checked, true, nil
}

// shownFile describes, in the person's language, what an import of the file would add, or why the
// file is refused.
func (pc *pageContext) shownFile(f handed, c imports.CheckedFile) shownFile {
	one := shownFile{Name: f.name, Content: base64.StdEncoding.EncodeToString(f.content)}
	if c.Refused == nil {
		one.Accounts = pc.fileAccounts(c.FileReport)
		return one
	}
	reason := ""
	var wrong *statementfile.FileError
	if errors.As(c.Refused, &wrong) {
		reason = string(wrong.Reason)
		switch {
		case wrong.Line > 0 && wrong.Field != "":
			one.Where = pc.words.Say("files.field", wrong.Line, wrong.Field)
		case wrong.Line > 0:
			one.Where = pc.words.Say("files.line", wrong.Line)
		}
	}
	one.Refused = pc.words.Say("files.reason." + cmp.Or(reason, "value"))
	return one
}

// fileAccounts describes in words the accounts of a file.
func (pc *pageContext) fileAccounts(r imports.FileReport) []shownFileAccount {
	var all []shownFileAccount
	for i, of := range r.Summary.Accounts {
		stored := r.Accounts[i]
		a := shownFileAccount{Name: accountText(passerelle.Account{Scheme: passerelle.IBAN, Identification: plainNumber(of.Account.IBAN)}), Disabled: stored.Disabled, Counts: pc.words.Say("files.counts", of.Entries, stored.New)}
		if a.Name == "" {
			a.Name = of.Account.Number
		}
		if a.Period = dateText(pc.words, of.First); of.First.IsZero() {
			a.Period = ""
		} else if of.First != of.Last {
			a.Period = pc.words.Say("files.period", dateText(pc.words, of.First), dateText(pc.words, of.Last))
		}
		if of.Closing != nil {
			a.Balance = pc.words.Say("files.balance", dateText(pc.words, of.Closing.Date), pc.money(of, of.Closing.Amount))
		}
		if stored.Removed > 0 {
			a.Counts += ". " + pc.words.Say("files.removed", stored.Removed)
		}
		for _, g := range stored.Gaps {
			a.Gaps = append(a.Gaps, pc.words.Say("files.gap", dateText(pc.words, g.After), dateText(pc.words, g.Before), pc.money(of, g.Missing)))
		}
		all = append(all, a)
	}
	return all
}

// money formats an amount in the page's language. An amount with more decimals than its currency
// becomes a plain decimal number.
func (pc *pageContext) money(of statementfile.AccountSummary, amount decimal.Decimal) string {
	c := of.Account.Currency
	minor, err := amount.Mul(decimal.MustNew(pow10(c.Digits()), 0))
	if units, _, whole := minor.Int64(0); err == nil && whole && minor.IsInt() {
		return amountText(pc.words, passerelle.Money{Minor: units, Currency: c})
	}
	return amount.String() + "\u00a0" + string(c)
}

func pow10(n int) int64 {
	power := int64(1)
	for range n {
		power *= 10
	}
	return power
}
