// Package imports passes statement files to connections. It checks a file, previews its effect, and
// makes the connection read it.
//
// The package owns the checks before the first write, the comparison with stored data, and the
// consent that a file implies. It does not own the formats (package statementfile), the identity of
// entries (package connector/statements) or the storing (package aggregation).
//
// For a wrong file, the package fails with a *passerelle.Error. Most of these errors are about the
// field `file` and name the line. The package has then stored nothing. A crash while the package
// stores a file leaves a part of the file stored. A second import of the same file stores the rest.
package imports

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// File is a statement file to import through a connection.
type File struct {
	User       passerelle.UserID
	Connection passerelle.ConnectionID
	// Name is for display and may be empty.
	Name    string
	Content io.ReadSeeker
	// Mapping says how to read CSV files, see [statementfile.ParseMapping]. The connection stores
	// it. An empty Mapping means the stored mapping.
	Mapping string
	// Unbalanced is set to accept a file whose entries do not match its balances.
	Unbalanced bool
}

// FileReport describes the content of a file, and the part of it that is new.
type FileReport struct {
	Summary statementfile.Summary
	// Accounts has the same order as the summary.
	Accounts []AccountReport
}

// AccountReport compares an account in the file with stored data. ID is zero for an account that is
// not stored yet. For a disabled account, an import stores no transactions.
type AccountReport struct {
	ID       passerelle.AccountID
	Disabled bool
	// New counts the transactions that are not stored yet. Changed counts the transactions that are
	// stored with other texts.
	New, Changed int
	// Removed counts the stored transactions that the file corrects and therefore removes.
	Removed int
	// Gaps lists the periods in which entries are missing, according to the balances of this file
	// and all earlier files.
	Gaps []statementfile.Gap
}

// Preview reports the changes that a file would make. It stores nothing.
func (i *Imports) Preview(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	if err := i.takesFiles(ctx, d, f); err != nil {
		return FileReport{}, err
	}
	s, err := i.begin(ctx, d, f)
	if err != nil {
		return FileReport{}, err
	}
	report, follow, err := s.preview(f)
	if err != nil {
		return report, err
	}
	follow()
	return report, s.addGaps(&report)
}

// previewing compares several files with the stored data, one after the other.
type previewing struct {
	*Imports
	ctx        context.Context
	domain     passerelle.DomainID
	connection passerelle.ConnectionID
	values     map[string]string
	// memory is the connection's memory, as in connector.DataRequest, after the files so far.
	// brought has the transactions that these files would have added.
	memory  []byte
	brought brought
	// format is the format of the files so far that have transactions.
	format statementfile.Format
}

func (i *Imports) begin(ctx context.Context, d passerelle.Domain, f File) (*previewing, error) {
	values, memory, err := bankstore.From(i.DB).ConnectionSecrets(ctx, d.ID, f.Connection)
	if errors.Is(err, store.ErrNotFound) {
		return nil, passerelle.Missing() // deleted since takesFiles found it
	}
	if err != nil {
		return nil, fmt.Errorf("load the memory of connection %d: %w", f.Connection, err)
	}
	return &previewing{Imports: i, ctx: ctx, domain: d.ID, connection: f.Connection, values: values, memory: memory, brought: brought{}}, nil
}

// preview compares one file. It returns the report, and a function that calls follow for the file.
func (s *previewing) preview(f File) (FileReport, func(), error) {
	if _, err := mapping(f.Mapping); err != nil {
		return FileReport{}, nil, err
	}
	request := connector.DataRequest{File: f.handed(), Values: s.values, Memory: s.memory, Now: s.Aggregation.Now()}
	if f.Mapping != "" {
		request.Values = map[string]string{statements.MappingField: f.Mapping}
	}
	summary, err := summarize(request)
	if err == nil {
		err = s.oneFormat(summary.Format)
	}
	if err != nil {
		return FileReport{}, nil, err
	}
	c := &comparison{ctx: s.ctx, db: s.DB, domain: s.domain, connection: s.connection, format: summary.Format, earlier: s.brought, own: brought{}}
	outcome, err := (statements.Connector{}).Read(s.ctx, request, c)
	if err != nil {
		return FileReport{}, nil, refusal(err)
	}
	report := FileReport{Summary: summary}
	for _, a := range summary.Accounts {
		report.Accounts = append(report.Accounts, c.report(statements.KeyOf(a.Account)))
	}
	return report, func() { s.follow(summary.Format, outcome.Memory, c.own) }, nil
}

// follow records a file as if an import had stored it.
func (s *previewing) follow(format statementfile.Format, memory []byte, transactions brought) {
	s.memory = memory
	s.brought.add(transactions)
	if len(s.brought) > 0 {
		s.format = format
	}
}

// oneFormat fails for a file in another format than an earlier file.
func (s *previewing) oneFormat(format statementfile.Format) error {
	if s.format != "" && s.format != format {
		return otherFormat("an earlier file is a %s file, whose texts differ, so transactions would be duplicated; send %s files, or create another connection", s.format, s.format)
	}
	return nil
}

// addGaps stores in the report the gaps that remain after all files so far.
func (s *previewing) addGaps(report *FileReport) error {
	covered := statements.Covered(s.memory)
	for n, a := range report.Summary.Accounts {
		gaps, _, err := statementfile.Gaps(covered[statements.KeyOf(a.Account)])
		if err != nil {
			return passerelle.InvalidField("file", "%s", err)
		}
		report.Accounts[n].Gaps = gaps
	}
	return nil
}

// CheckedFile describes what a file would add after the files before it, or why the service refuses
// the file.
type CheckedFile struct {
	FileReport
	Refused *passerelle.Error
}

// CheckAll checks the files of a connection as if an import stored one after the other. It stores
// nothing. For each account, the report of the last accepted file with this account has the gaps
// that remain after all files.
func (i *Imports) CheckAll(ctx context.Context, d passerelle.Domain, files ...File) ([]CheckedFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if err := i.takesFiles(ctx, d, files[0]); err != nil {
		return nil, err
	}
	s, err := i.begin(ctx, d, files[0])
	if err != nil {
		return nil, err
	}
	all := make([]CheckedFile, len(files))
	for n, f := range files {
		if all[n], err = s.check(f); err != nil {
			return nil, fmt.Errorf("check a statement file for connection %d: %w", f.Connection, err)
		}
	}
	return all, s.addLastGaps(all)
}

// check compares a file. It refuses the same files as Import.
func (s *previewing) check(f File) (CheckedFile, error) {
	report, follow, err := s.preview(f)
	if err == nil && !f.Unbalanced {
		err = balanced(report.Summary)
	}
	if err == nil {
		follow()
	}
	why, err := refused(err)
	return CheckedFile{report, why}, err
}

// addLastGaps adds the gaps that remain after all files. For each account, it adds them to the last
// accepted file with this account.
func (s *previewing) addLastGaps(all []CheckedFile) error {
	seen := map[string]bool{}
	for n := len(all) - 1; n >= 0; n-- {
		if all[n].Refused != nil {
			continue
		}
		if err := s.addGaps(&all[n].FileReport); err != nil {
			return err
		}
		for m, a := range all[n].Summary.Accounts {
			key := statements.KeyOf(a.Account)
			if seen[key] {
				all[n].Accounts[m].Gaps = nil
			}
			seen[key] = true
		}
	}
	return nil
}

// refused returns an error about a file as its first result. It returns all other errors as its
// second result.
func refused(err error) (*passerelle.Error, error) {
	var why *passerelle.Error
	if errors.As(err, &why) && (why.Kind == passerelle.Invalid || why.Kind == passerelle.Conflict) {
		return why, nil
	}
	return nil, err
}

func (f *File) handed() *connector.HandedFile {
	return &connector.HandedFile{ReadSeeker: f.Content, Name: f.Name}
}

// mapping parses a mapping. It returns nil for an empty text.
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

// Check returns the same report as Preview. It fails for the same files as Import.
func (i *Imports) Check(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	report, err := i.Preview(ctx, d, f)
	if err == nil && !f.Unbalanced {
		err = balanced(report.Summary)
	}
	return report, err
}

// Import stores a whole file. It stores nothing when it refuses the file. New accounts are shared,
// because the user has supplied their statements. Accounts that the user has disabled stay
// disabled.
func (i *Imports) Import(ctx context.Context, d passerelle.Domain, f File) (FileReport, error) {
	report, err := i.Check(ctx, d, f)
	if err != nil {
		return report, err
	}
	if err := i.read(ctx, d, f, report.Summary.Format); err != nil {
		return report, err
	}
	return report, i.number(ctx, d, f, &report)
}

// Takes reports whether a connection accepts files.
func Takes(c bankstore.Connection) bool { return c.Connector == statements.UUID }

// takesFiles fails for a connection that accepts no files, because it reads an institution.
func (i *Imports) takesFiles(ctx context.Context, d passerelle.Domain, f File) error {
	c, err := i.Aggregation.Connection(ctx, d, f.User, f.Connection)
	if err != nil {
		return err
	}
	if !Takes(c) {
		return passerelle.Conflicting("the connection reads an institution and accepts no files; create a connection to the connector %s", statements.UUID)
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

// refusal converts an error about a file to an error for the client.
func refusal(err error) error {
	var wrong *statementfile.FileError
	var own *passerelle.Error
	if errors.As(err, &wrong) && !errors.As(err, &own) {
		return refusedFor(wrong)
	}
	return err
}

func refusedFor(wrong *statementfile.FileError) error {
	why := passerelle.InvalidField("file", "%s", wrong)
	why.Cause = wrong
	return why
}

// These are reasons for refusals. Package statementfile has further reasons.
const (
	// Unbalanced means that statements are incomplete, or that their entries do not match their
	// balances.
	Unbalanced statementfile.RefusalReason = "unbalanced"
	// OtherFormat means that an account in the file has transactions from another format.
	OtherFormat statementfile.RefusalReason = "format"
)

func otherFormat(format string, args ...any) error {
	why := passerelle.Conflicting(format, args...)
	why.Cause = &statementfile.FileError{Reason: OtherFormat, Err: why.Kind}
	return why
}

// balanced fails when the entries of a statement do not match its balances.
func balanced(s statementfile.Summary) error {
	for _, a := range s.Accounts {
		if len(a.Unbalanced) > 0 {
			err := fmt.Errorf("%s; send unbalanced=true to import it all the same", a.Imbalance)
			return refusedFor(&statementfile.FileError{Line: a.Unbalanced[0], Err: err, Reason: Unbalanced})
		}
	}
	return nil
}

// read makes the connection read the file. It checks the format again, because another import may
// have created the accounts in the meantime. It fails when the connection has an error state
// afterwards, because a file cannot end that state.
func (i *Imports) read(ctx context.Context, d passerelle.Domain, f File, format statementfile.Format) error {
	request := aggregation.Request{File: f.handed(), FileCheck: func(ctx context.Context) error {
		c := &comparison{ctx: ctx, db: i.DB, domain: d.ID, connection: f.Connection, format: format}
		return c.checkFormats()
	}}
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

// number adds the ids of the accounts to the report.
func (i *Imports) number(ctx context.Context, d passerelle.Domain, f File, report *FileReport) error {
	stored, err := accountsOf(ctx, i.DB, d.ID, f.Connection)
	for n := range report.Accounts {
		report.Accounts[n].ID = stored[statements.KeyOf(report.Summary.Accounts[n].Account)].ID
	}
	return err
}

// accountsOf returns the accounts of a connection, by key.
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
