package database

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErasedTextIsGone deletes rows whose texts fill pages of their own. Neither the database nor
// the log beside it may contain a deleted text after the database is closed.
func TestErasedTextIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "erased")
	db := open(t, "sqlite:"+path)
	const secret = "the number of the account"
	write := func(fn func(*Unit) error) {
		if err := db.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 40 {
		write(insert(int64(n+1), fmt.Sprint(n, strings.Repeat(secret, n*20))))
	}
	write(runs(`UPDATE probe SET name = 'kept' WHERE id = 3`))
	write(runs(`DELETE FROM probe WHERE id <> 3`))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := bytes.Count(data, []byte(secret)); found > 0 {
			t.Errorf("%s contains the deleted text %d times", filepath.Base(name), found)
		}
	}
}
