// Package secretfile reads values with passwords from private files.
//
// It owns the rule that a value is given once, directly or in a file. It does not own the
// meaning of a value. It refuses a file that others may read, an empty one, and one in addition
// to its value.
package secretfile

import (
	"fmt"
	"io"
	"os"
	"strings"

	"passerelle"
	"passerelle/internal/keys"
)

// maxSize is more than any such value needs.
const maxSize = 1 << 20

// Text returns the content of a file that only its owner may read; empty without a file.
func Text(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", passerelle.InvalidField(flag, "the file does not exist: %s", name)
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

// Value is a flag whose value may be in a file instead, because it contains a password.
type Value struct {
	Flag        string
	File, Value *string
}

// Read puts the contents of files into the values of flags. It refuses a file in addition to
// its value.
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

// Flags has the flags for values that contain a password, which other users of the machine could
// read on the command line.
type Flags struct {
	DatabaseFile string `placeholder:"FILE" help:"File with the value of --database, readable only by its owner."`
	FilesFile    string `placeholder:"FILE" help:"File with the value of --files, readable only by its owner."`
	SMTPURLFile  string `name:"smtp-url-file" placeholder:"FILE" help:"File with the value of --smtp-url, readable only by its owner."`
}

// Resolve puts the contents of files into three values.
func (f *Flags) Resolve(database, files, mails *string) error {
	return Read(
		Value{"--database", &f.DatabaseFile, database}, Value{"--files", &f.FilesFile, files}, Value{"--smtp-url", &f.SMTPURLFile, mails},
	)
}
