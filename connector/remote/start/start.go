// Package start contains example programs for the connector protocol, from which developers can
// start their own connector. In each language there is a bank that accepts payments, and a source
// that reads data from a folder.
//
// The package owns the programs and copies them, but does not run them. Write fails with Invalid
// for an unknown language, and never overwrites a file.
package start

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"passerelle"
)

//go:embed go node python shell
var programs embed.FS

// Languages lists the languages.
func Languages() []string { return []string{"go", "node", "python", "shell"} }

// Write copies the programs of a language into a folder, and creates the folder if necessary. It
// returns their paths.
func Write(language, folder string) ([]string, error) {
	files, err := programs.ReadDir(language)
	if err != nil {
		return nil, passerelle.InvalidField("language", "must be one of %s", strings.Join(Languages(), ", "))
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of a connector: %w", err)
	}
	var written []string
	for _, f := range files {
		content, err := fs.ReadFile(programs, path.Join(language, f.Name()))
		if err != nil {
			return written, err
		}
		to := filepath.Join(folder, f.Name())
		if err := create(to, content); err != nil {
			return written, err
		}
		written = append(written, to)
	}
	return written, nil
}

// create writes a new file. It fails when the file exists.
func create(to string, content []byte) error {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("write a connector: %w", err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
