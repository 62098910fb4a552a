package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"passerelle"
	"passerelle/internal/keys"
)

// privateText is the content of a file that only its owner may read; none is empty.
func privateText(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", passerelle.InvalidField(flag, "there is no file to read: %s", name)
	}
	defer file.Close()
	if err := keys.CheckPrivate(file); err != nil {
		return "", passerelle.InvalidField(flag, "others may read it: %v", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// secretFile is a flag whose value may be in a file instead, because it has a password.
type secretFile struct {
	flag        string
	file, value *string
}

// readSecrets puts the contents of files in place of the values of flags. A value beside
// its file is refused.
func readSecrets(secrets ...secretFile) error {
	for _, one := range secrets {
		if err := one.read(); err != nil {
			return err
		}
	}
	return nil
}

func (s secretFile) read() error {
	flag, name := s.flag+"-file", *s.file
	if name == "" {
		return nil
	}
	if *s.value != "" {
		return passerelle.InvalidField(flag, "takes the place of %s: give one of them", s.flag)
	}
	text, err := privateText(flag, name)
	if err != nil {
		return err
	}
	if text == "" {
		return passerelle.InvalidField(flag, "the file is empty: %s", name)
	}
	*s.value, *s.file = text, ""
	return nil
}

// secretFiles is the flags for values with a password in them, which other users of the
// machine could read on the command line.
type secretFiles struct {
	DatabaseFile string `placeholder:"FILE" help:"File with the value of --database, readable only by its owner."`
	FilesFile    string `placeholder:"FILE" help:"File with the value of --files, readable only by its owner."`
	SMTPURLFile  string `name:"smtp-url-file" placeholder:"FILE" help:"File with the value of --smtp-url, readable only by its owner."`
}

// resolve puts the contents of the files in place of three values.
func (f *secretFiles) resolve(database, files, mails *string) error {
	return readSecrets(
		secretFile{"--database", &f.DatabaseFile, database}, secretFile{"--files", &f.FilesFile, files}, secretFile{"--smtp-url", &f.SMTPURLFile, mails},
	)
}
