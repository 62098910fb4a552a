// Package imports hands statement files to connections: it checks a file, previews its effect,
// and has the connection read it.
//
// It owns the check before anything is written, the comparison with stored data, and the
// consent that a file implies. It does not own the formats (package statementfile), the
// identity of entries (connector/statements) or the storing (package aggregation).
//
// It fails with a *passerelle.Error on the field file, with the line, for a wrong file. Then it
// writes nothing. A crash while a file is stored leaves a part of it, which the same file
// completes.
package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/statements"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/statementfile"
)

// Imports has the use cases of statement files. Every field is required.
type Imports struct {
	DB          *store.DB
	Aggregation *aggregation.Aggregation
}

// File is a file for a connection.
type File struct {
	User       passerelle.UserID
	Connection passerelle.ConnectionID
	// Name is for people, and may be empty.
	Name    string
	Content io.ReadSeeker
	// Mapping says how to read CSV files, see [statementfile.ParseMapping]. The connection
	// keeps it. Empty means the stored one.
	Mapping string
	// Unbalanced files are taken even when entries do not fit their balances.
	Unbalanced bool
}

// FileReport is the content of a file, and what was new in it.
type FileReport struct {
	Summary statementfile.Summary
	// Accounts are in the order of the summary.
	Accounts []AccountReport
}

// AccountReport compares an account of the file with stored data. ID is zero while the account
// is not stored. Disabled accounts are stored without their transactions.
type AccountReport struct {
	ID       passerelle.AccountID
	Disabled bool
	// New counts transactions that are not stored, and Changed those that are stored with other
	// texts.
	New, Changed int
	// Gaps are missing amounts between the balances of this file and all earlier ones.
	Gaps []statementfile.Gap
}

// Preview reports what a file would add, and writes nothing.
func (i *Imports) Preview(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	if err := i.takesFiles(ctx, d, f); err != nil {
		return FileReport{}, err
	}
	request, err := i.request(ctx, d, f)
	if err != nil {
		return FileReport{}, err
	}
	summary, err := summarize(request)
	if err != nil {
		return FileReport{}, err
	}
	c := &comparison{ctx: ctx, db: i.DB, domain: d.ID, connection: f.Connection, format: summary.Format}
	if _, err := (statements.Connector{}).Read(ctx, request, c); err != nil {
		return FileReport{}, refusal(err)
	}
	report := FileReport{Summary: summary}
	covered := statements.Covered(request.Memory)
	for _, a := range summary.Accounts {
		key := statements.KeyOf(a.Account)
		one := c.report(key)
		if one.Gaps, _, err = statementfile.Gaps(append(covered[key], a.Spans...)); err != nil {
			return report, passerelle.InvalidField("file", "%s", err)
		}
		report.Accounts = append(report.Accounts, one)
	}
	return report, nil
}

// request is what the connector gets to read a file, with its memory of earlier ones.
func (i *Imports) request(ctx context.Context, d passerelle.Domain, f File) (connector.DataRequest, error) {
	if _, err := mapping(f.Mapping); err != nil {
		return connector.DataRequest{}, err
	}
	values, memory, err := bankstore.From(i.DB).ConnectionSecrets(ctx, d.ID, f.Connection)
	if err != nil {
		return connector.DataRequest{}, fmt.Errorf("load the memory of connection %d: %w", f.Connection, err)
	}
	if f.Mapping != "" {
		values = map[string]string{statements.MappingField: f.Mapping}
	}
	return connector.DataRequest{File: f.handed(), Values: values, Memory: memory, Now: i.Aggregation.Now()}, nil
}

func (f *File) handed() *connector.HandedFile {
	return &connector.HandedFile{ReadSeeker: f.Content, Name: f.Name}
}

// mapping reads a mapping, nil when there is none.
func mapping(text string) (*statementfile.Mapping, error) {
	if text == "" {
		return nil, nil
	}
	m, err := statementfile.ParseMapping(text)
	if err != nil {
		return nil, passerelle.InvalidField("mapping", "%s", err)
	}
	return m, nil
}

// Reading is the common part of Check and Import.
type Reading func(ctx context.Context, d passerelle.Domain, f File) (FileReport, error)

// Check is Preview, and refuses what Import refuses.
func (i *Imports) Check(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	report, err := i.Preview(ctx, d, f)
	if err == nil && !f.Unbalanced {
		err = balanced(report.Summary)
	}
	return report, err
}

// Import stores a file, completely or, when it is wrong, not at all. New accounts are shared,
// because the person hands their statements over. Accounts that the person has disabled stay
// disabled.
func (i *Imports) Import(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	report, err := i.Check(ctx, d, f)
	if err != nil {
		return report, err
	}
	if err := i.read(ctx, d, f); err != nil {
		return report, err
	}
	return report, i.number(ctx, d, f, &report)
}

// Takes reports whether a connection takes files.
func Takes(c bankstore.Connection) bool { return c.Connector == statements.UUID }

// takesFiles refuses connections that read an institution.
func (i *Imports) takesFiles(ctx context.Context, d passerelle.Domain, f File) error {
	c, err := i.Aggregation.Connection(ctx, d, f.User, f.Connection)
	if err != nil {
		return err
	}
	if !Takes(c) {
		return passerelle.Conflicting("the connection reads an institution and takes no files; create one to the connector %s", statements.UUID)
	}
	return nil
}

func summarize(r connector.DataRequest) (statementfile.Summary, error) {
	if _, err := r.File.Seek(0, io.SeekStart); err != nil {
		return statementfile.Summary{}, fmt.Errorf("read a file: %w", err)
	}
	m, err := mapping(r.Values[statements.MappingField])
	if err != nil {
		return statementfile.Summary{}, err
	}
	summary, err := statementfile.Summarize(r.File, m)
	return summary, refusal(err)
}

// refusal is an error of a file for the client.
func refusal(err error) error {
	var wrong *statementfile.FileError
	if errors.As(err, &wrong) {
		return passerelle.InvalidField("file", "%s", wrong)
	}
	return err
}

// balanced refuses statements whose entries do not fit their balances.
func balanced(s statementfile.Summary) error {
	for _, a := range s.Accounts {
		if len(a.Unbalanced) > 0 {
			return passerelle.InvalidField("file", "line %d: the entries of the statement do not lead from its opening to its closing balance; send unbalanced=true to take it all the same", a.Unbalanced[0])
		}
	}
	return nil
}

// read has the connection read the file. A state of the connection is one that a file cannot
// change.
func (i *Imports) read(ctx context.Context, d passerelle.Domain, f File) error {
	request := aggregation.Request{File: f.handed()}
	if f.Mapping != "" {
		request.Values = map[string]string{statements.MappingField: f.Mapping}
	}
	c, err := i.Aggregation.Resume(ctx, d, f.User, f.Connection, request)
	if err != nil {
		return err
	}
	if c.State != "" {
		return fmt.Errorf("connection %d is in the state %s after a file was read", c.ID, c.State)
	}
	return nil
}

// number adds the ids of the file's accounts.
func (i *Imports) number(ctx context.Context, d passerelle.Domain, f File, report *FileReport) error {
	stored, err := i.accounts(ctx, d.ID, f.Connection)
	for n := range report.Accounts {
		report.Accounts[n].ID = stored[statements.KeyOf(report.Summary.Accounts[n].Account)].ID
	}
	return err
}

// accounts are the accounts of a connection by key.
func (i *Imports) accounts(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) (map[string]bankstore.StoredAccount, error) {
	return accountsOf(ctx, i.DB, domain, connection)
}

func accountsOf(ctx context.Context, db *store.DB, domain passerelle.DomainID, connection passerelle.ConnectionID) (map[string]bankstore.StoredAccount, error) {
	all, err := bankstore.From(db).AccountsOf(ctx, domain, connection)
	if err != nil {
		return nil, fmt.Errorf("list the accounts of connection %d: %w", connection, err)
	}
	byKey := map[string]bankstore.StoredAccount{}
	for _, a := range all {
		byKey[a.Key] = a
	}
	return byKey, nil
}

// formatOf is the format that a key of a transaction begins with.
func formatOf(key string) statementfile.Format {
	format, _, _ := strings.Cut(key, "/")
	return statementfile.Format(format)
}
