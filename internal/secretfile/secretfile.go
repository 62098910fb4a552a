// Package secretfile reads values with passwords from private files.
//
// The package owns the rule that a value comes either from its flag or from a file. It does not own
// the meaning of a value. It refuses a file that others may read. Read also refuses an empty file,
// and a file in addition to a value.
package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"passerelle"
	"passerelle/internal/keys"
)

// maxSize is larger, in bytes, than any value with a password.
const maxSize = 1 << 20

// Text returns the content of a file that only its owner may read. It returns an empty text when
// name is empty.
func Text(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", passerelle.InvalidField(flag, "the file does not exist: %s", name)
	case err != nil:
		return "", passerelle.InvalidField(flag, "cannot read the file: %v", err)
	}
	defer file.Close()
	if err := keys.CheckPrivate(file); err != nil {
		return "", passerelle.InvalidField(flag, "other users can read it: %v", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Value is a flag whose value contains a password. The value may therefore be in a file.
type Value struct {
	Flag        string
	File, Value *string
}

// Read sets the values of flags from their files. It fails when a flag has both a value and a file.
func Read(secrets ...Value) error {
	for _, one := range secrets {
		if err := one.read(); err != nil {
			return err
		}
	}
	return nil
}

func (s Value) read() error {
	flag, name := s.Flag+"-file", *s.File
	if name == "" {
		return nil
	}
	if *s.Value != "" {
		return passerelle.InvalidField(flag, "replaces %s: give only one of them", s.Flag)
	}
	text, err := Text(flag, name)
	if err != nil {
		return err
	}
	if text == "" {
		return passerelle.InvalidField(flag, "the file is empty: %s", name)
	}
	*s.Value, *s.File = text, ""
	return nil
}

// Flags contains the flags that name files with passwords. Each replaces a flag whose value
// contains a password, because other users of the machine can read command lines.
type Flags struct {
	DatabaseFile string `placeholder:"FILE" help:"File with the value of --database, readable only by its owner."`
	FilesFile    string `placeholder:"FILE" help:"File with the value of --files, readable only by its owner."`
	SMTPURLFile  string `name:"smtp-url-file" placeholder:"FILE" help:"File with the value of --smtp-url, readable only by its owner."`
}

// Resolve sets three values from their files.
func (f *Flags) Resolve(database, files, mails *string) error {
	return Read(
		Value{"--database", &f.DatabaseFile, database}, Value{"--files", &f.FilesFile, files}, Value{"--smtp-url", &f.SMTPURLFile, mails},
	)
}
