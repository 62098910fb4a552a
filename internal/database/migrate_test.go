package database

import (
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"passerelle/internal/store/storetest"
)

// migrating opens the database like a program with these migrations, and applies them.
func migrating(t *testing.T, url string, texts ...string) (*Handle, error) {
	t.Helper()
	db := openOnly(t, url, texts...)
	return db, db.Migrate(t.Context())
}

const (
	stepOne = "CREATE TABLE one (id {id}, data {bytes});\nINSERT INTO one (data) VALUES (NULL);"
	stepTwo = `CREATE TABLE two (id BIGINT NOT NULL);
-- only sqlite
CREATE TRIGGER kept BEFORE DELETE ON two BEGIN
	SELECT RAISE(ABORT, 'two is kept');
END;
-- end
-- only postgres
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'two is kept' USING ERRCODE = '23514';
END $$;
CREATE TRIGGER kept BEFORE DELETE ON two FOR EACH ROW EXECUTE FUNCTION keep();
-- end
INSERT INTO two (id) VALUES (1);
`
)

func TestMigrate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		old, err := migrating(t, url, stepOne)
		if err != nil {
			t.Fatal(err)
		}
		db := openOnly(t, url, stepOne, stepTwo)
		wantError(t, db.SchemaCurrent(t.Context()), errPending)
		for range 2 {
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for name, db := range map[string]*Handle{"new": db, "old beside new": old} {
			if err := db.SchemaCurrent(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if id, err := One(t.Context(), &db.Querier, ScanInt, `SELECT id FROM one`); err != nil || id != 1 {
			t.Errorf("the first assigned id is %d, %v", id, err)
		}
		script(t, db, ownTables)
		err = db.Write(t.Context(), runs(`DELETE FROM two`))
		wantError(t, err, ErrConstraint)
	})
}

// TestPendingChangesNothing checks that Pending does not change the database, even if it is empty.
func TestPendingChangesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		names := func(db *Handle) (names []string) {
			t.Helper()
			all, err := db.Pending(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				names = append(names, one.Name)
			}
			return names
		}
		empty := openOnly(t, url, stepOne, stepTwo)
		if got := names(empty); len(got) != 2 {
			t.Errorf("an empty database lacks %v, want two", got)
		}
		wantError(t, empty.SchemaCurrent(t.Context()), errPending)
		if _, err := One(t.Context(), &empty.Querier, ScanInt, `SELECT count(*) FROM schema_migration`); err == nil {
			t.Error("there is a history")
		}
		if _, err := migrating(t, url, stepOne); err != nil {
			t.Fatal(err)
		}
		all, err := empty.Pending(t.Context())
		if err != nil || len(all) != 1 || !strings.Contains(all[0].Statements, "CREATE TRIGGER kept") || strings.Contains(all[0].Statements, "-- only") {
			t.Errorf("got %v, %v, want the second with its statements for this database", all, err)
		}
		if err := empty.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := names(empty); len(got) != 0 {
			t.Errorf("%v are pending afterwards", got)
		}
		_, err = openOnly(t, url, stepTwo, stepTwo).Pending(t.Context())
		if err == nil || !strings.Contains(err.Error(), "was changed") {
			t.Errorf("an edited migration gives %v", err)
		}
	})
}

func TestSchemaOfAnEmptyDatabase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		wantError(t, openOnly(t, url).SchemaCurrent(t.Context()), errPending)
	})
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	broken := "CREATE TABLE two (id BIGINT);\nINSERT INTO nowhere (id) VALUES (1);"
	storetest.Each(t, func(t *testing.T, url string) {
		_, err := migrating(t, url, stepOne, broken)
		if err == nil || !strings.Contains(err.Error(), "0002_step") {
			t.Errorf("error is %v", err)
		}
		if _, err := migrating(t, url, stepOne, stepTwo); err != nil {
			t.Error(err)
		}
	})
}

func TestEditedMigrationIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		if _, err := migrating(t, url, stepOne); err != nil {
			t.Fatal(err)
		}
		db, err := migrating(t, url, stepOne+"-- edited")
		for _, err := range []error{err, db.SchemaCurrent(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "0001_step was changed") {
				t.Errorf("error is %v", err)
			}
		}
	})
}

func TestMigratorsRunOneAtATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		var all sync.WaitGroup
		for range 4 {
			db := openOnly(t, url, stepOne, stepTwo)
			all.Go(func() {
				if err := db.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		count, err := One(t.Context(), &openOnly(t, url).Querier, ScanInt, `SELECT count(*) FROM two`)
		if err != nil || count != 1 {
			t.Errorf("%d rows, %v", count, err)
		}
	})
}

func TestDanglingReferenceAfterMigration(t *testing.T) {
	parent := "CREATE TABLE parent (id BIGINT NOT NULL PRIMARY KEY);\nCREATE TABLE child (id BIGINT NOT NULL REFERENCES parent (id));"
	storetest.Each(t, func(t *testing.T, url string) {
		_, err := migrating(t, url, parent, "INSERT INTO child (id) VALUES (1);")
		wantError(t, err, ErrConstraint)
	})
}

func TestMisplacedBlocks(t *testing.T) {
	for _, text := range []string{
		"-- only mysql\n-- end",
		"-- only sqlite\nSELECT 1;",
		"-- only sqlite\n-- only postgres\n-- end\n-- end",
		"SELECT 1;\n-- end",
	} {
		if _, err := SQLiteDialect().script(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestMisnumberedMigrations(t *testing.T) {
	for name, files := range map[string][]string{
		"twice":     {"migrations/0001_a.sql", "migrations/0001_b.sql"},
		"no number": {"migrations/first.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			system := fstest.MapFS{}
			for _, file := range files {
				system[file] = &fstest.MapFile{}
			}
			if _, err := loadMigrations(system); err == nil {
				t.Error("accepted")
			}
		})
	}
}
