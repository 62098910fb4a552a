package banking

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"passerelle/internal/httpapi"
	"passerelle/internal/imports"
	"passerelle/statementfile"
)

// maxStatementFile is the largest body with a statement file, in bytes.
const maxStatementFile = 32 << 20

func (s *Service) fileRoutes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodPost, Pattern: "/users/{userId}/connections/{connectionId}/files", Aliases: []string{"/connections/{connectionId}/files"}, Needs: ofUser,
		MaxBody: maxStatementFile, Endpoint: httpapi.Handle(s.importFile), Errors: []string{"conflict", "connectionLocked"},
		Summary: "Import a statement file",
		Doc:     "Imports a camt.052, camt.053, camt.054, MT940, MT942, CFONB 120, OFX or CSV file into a connection to the statement file connector. Imports the whole file or nothing. The body is a form with the file, JSON with the file in base64, or the file itself. Transactions that are already stored stay unchanged, so files may overlap or be imported twice. New accounts are shared. With preview, nothing is changed.",
	}}
}

type importFileInput struct {
	oneConnectionInput
	Preview    bool                 `query:"preview" doc:"report what an import would change, without changing anything"`
	Unbalanced bool                 `query:"unbalanced" doc:"accept statements whose transactions do not add up from the opening to the closing balance"`
	File       httpapi.UploadedFile `body:"file,required" raw:"application/xml,text/xml,text/plain,text/csv,application/x-ofx,application/vnd.intu.qfx,application/octet-stream" doc:"the statement file"`
	Name       string               `body:"name" max:"200" doc:"display name of the file; in a form, the file part provides it"`
	Mapping    string               `body:"mapping" max:"4096" doc:"how to read CSV files, a JSON object; remembered for the next files of the connection" example:"{\"account\":{\"iban\":\"FR7630006000011234567890189\",\"currency\":\"EUR\"}}"`
}

// importFileOutput reports the content of a file.
type importFileOutput struct {
	Preview  bool          `json:"preview" doc:"whether this is a preview, so nothing was changed"`
	Format   string        `json:"format" doc:"camt053, mt940, cfonb120, ofx or csv"`
	Message  string        `json:"message" doc:"type of the message, such as camt.053.001.08"`
	Accounts []fileAccount `json:"accounts"`
}

type fileAccount struct {
	ID           *int64         `json:"id" doc:"null when the account is not stored yet"`
	IBAN         *string        `json:"iban"`
	Number       *string        `json:"number"`
	Currency     string         `json:"currency"`
	Disabled     bool           `json:"disabled" doc:"whether the end user has disabled the account, so its transactions are not stored"`
	Statements   int            `json:"statements"`
	Transactions int            `json:"transactions"`
	New          int            `json:"new" doc:"number of transactions that were not stored before"`
	Changed      int            `json:"changed" doc:"number of stored transactions whose texts are corrected"`
	Removed      int            `json:"removed" doc:"number of stored transactions that a correction removes"`
	Reversals    int            `json:"reversals" doc:"number of transactions that reverse earlier ones"`
	FirstDate    *string        `json:"first_date" doc:"booking day of the first transaction"`
	LastDate     *string        `json:"last_date" doc:"booking day of the last transaction"`
	Opening      *fileBalance   `json:"opening"`
	Closing      *fileBalance   `json:"closing"`
	Sum          json.Number    `json:"sum" doc:"sum of the transactions"`
	Unbalanced   []int          `json:"unbalanced" doc:"lines of statements whose transactions do not add up from the opening to the closing balance"`
	Imbalance    *string        `json:"imbalance" doc:"why the first of these statements is in the list, in words"`
	Outside      []int          `json:"outside" doc:"lines of statements with transactions that are booked before the opening or after the closing balance"`
	Gaps         []statementGap `json:"gaps" doc:"gaps between the balances of this file and those of earlier files"`
}

type fileBalance struct {
	Date   string      `json:"date"`
	Amount json.Number `json:"amount"`
}

type statementGap struct {
	After  string      `json:"after" doc:"day of the closing balance before the gap"`
	Before string      `json:"before" doc:"day of the opening balance after the gap"`
	Amount json.Number `json:"amount" doc:"missing amount"`
}

func (s *Service) importFile(ctx context.Context, c *httpapi.Caller, in importFileInput) (importFileOutput, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return importFileOutput{}, err
	}
	use := &imports.Imports{DB: s.DB, Aggregation: s.Aggregation}
	read := use.Import
	if in.Preview {
		read = use.Preview
	}
	report, err := read(ctx, c.Domain, imports.File{
		User: one.User, Connection: one.ID, Name: cmp.Or(in.Name, in.File.Name), Content: bytes.NewReader(in.File.Content), Mapping: in.Mapping, Unbalanced: in.Unbalanced,
	})
	if err != nil {
		return importFileOutput{}, err
	}
	out := importFileOutput{Preview: in.Preview, Format: string(report.Summary.Format), Message: report.Summary.Message, Accounts: []fileAccount{}}
	for i, a := range report.Accounts {
		out.Accounts = append(out.Accounts, showFileAccount(report.Summary.Accounts[i], a))
	}
	return out, nil
}

func showFileAccount(of statementfile.AccountSummary, stored imports.AccountReport) fileAccount {
	shown := fileAccount{
		Currency: string(of.Account.Currency), Disabled: stored.Disabled, Statements: of.Statements, Transactions: of.Entries, New: stored.New, Changed: stored.Changed, Removed: stored.Removed, Reversals: of.Reversals,
		Opening: showFileBalance(of.Opening), Closing: showFileBalance(of.Closing), Sum: json.Number(of.Sum.String()),
		Unbalanced: append([]int{}, of.Unbalanced...), Imbalance: textOrNull(of.Imbalance), Outside: append([]int{}, of.Outside...), Gaps: []statementGap{},
		IBAN: textOrNull(of.Account.IBAN), Number: textOrNull(of.Account.Number), FirstDate: textOrNull(of.First.String()), LastDate: textOrNull(of.Last.String()),
	}
	if stored.ID != 0 {
		id := int64(stored.ID)
		shown.ID = &id
	}
	for _, g := range stored.Gaps {
		shown.Gaps = append(shown.Gaps, statementGap{g.After.String(), g.Before.String(), json.Number(g.Missing.String())})
	}
	return shown
}

func showFileBalance(b *statementfile.StatementBalance) *fileBalance {
	if b == nil {
		return nil
	}
	return &fileBalance{b.Date.String(), json.Number(b.Amount.String())}
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
