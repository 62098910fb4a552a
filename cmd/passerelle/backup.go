package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"passerelle"
	"passerelle/internal/backup"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

type backupCommand struct {
	databaseFlag
	To       string `placeholder:"FILE" type:"path" help:"File to write. An existing file is never replaced. Required without --note-only."`
	NoteOnly bool   `help:"Make no copy. Only record for the console that you have made a copy by other means, such as on a standby."`
}

// copyView is the output of backup and restore.
type copyView struct {
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Duration string `json:"duration"`
	Note     string `json:"note"`
}

// Run copies the database, which other processes may use. With --note-only, Run makes no copy. It
// only records a copy that was made by other means.
func (b *backupCommand) Run(c *console) error {
	if err := b.exists(); err != nil {
		return err
	}
	began := time.Now()
	switch {
	case b.NoteOnly && b.To != "":
		return passerelle.InvalidField("--note-only", "makes no copy, so that --to has no use beside it")
	case b.NoteOnly:
		return b.do(c, nil, func(db *store.DB) (any, error) {
			return noteView{passerelle.FormatDateTime(began, time.UTC)}, noteBackup(c, db, began)
		})
	case b.To == "":
		return passerelle.MissingField("--to", "is required: it names the file of the copy")
	}
	meter := c.meter("backup")
	err := backup.Make(c.ctx, b.Database, b.To, meter)
	meter.End()
	if err != nil {
		return err
	}
	note := "also keep the key file, apart from the copy: without it, the secrets in the copy cannot be decrypted; and copy the files after the database"
	if err := b.note(c, began); err != nil {
		note += fmt.Sprintf("; the console does not know of this copy (%s): run passerelle backup --note-only on the database that is served from", err)
	}
	return showCopy(c, b.To, began, note)
}

// noteView is the output of --note-only. LastBackup is in UTC, because it concerns all domains.
type noteView struct {
	LastBackup string `json:"last_backup"`
}

// note stores the time at which the copy began. A standby, or a database with the schema of an
// earlier version, cannot store the time. The command still copies such a database.
func (b *backupCommand) note(c *console, began time.Time) error {
	db, err := store.Open(c.ctx, b.Database, store.Options{Log: c.log})
	if err != nil {
		return err
	}
	_, err = current(c, db, nil, func(db *store.DB) (any, error) { return nil, noteBackup(c, db, began) })
	return errors.Join(err, db.Close())
}

func noteBackup(c *console, db *store.DB, began time.Time) error {
	err := db.Write(c.ctx, func(tx *store.Tx) error {
		tx.NoteBackup(began)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	return nil
}

// restoreCommand limits the skipped ids. With this limit, 8,000 restores keep ids below 2^53. Up to
// this number, JavaScript represents every integer exactly.
type restoreCommand struct {
	databaseFlag
	From    string `placeholder:"FILE" type:"path" help:"Copy made by passerelle backup. Required without --ids-only."`
	SkipIDs int64  `name:"skip-ids" default:"10000000" least:"0" most:"1000000000000" help:"Number of ids that each table skips. The lost database may have used them after the copy, and clients may know them."`
	IDsOnly bool   `name:"ids-only" help:"Restore no copy. Only skip the ids in a database that you have restored by other means, such as an archive. Stop every process first."`
}

// Run makes a database from a copy. With --ids-only, Run only skips ids.
func (r *restoreCommand) Run(c *console) error {
	switch {
	case r.IDsOnly && r.From != "":
		return passerelle.InvalidField("--ids-only", "restores no copy, so that --from has no use beside it")
	case r.IDsOnly:
		return r.skip(c)
	case r.From == "":
		return passerelle.MissingField("--from", "is required: it names the copy")
	}
	began := time.Now()
	meter := c.meter("restore")
	err := backup.Restore(c.ctx, r.From, r.Database, r.SkipIDs, meter)
	meter.End()
	if err != nil {
		return err
	}
	return showCopy(c, r.From, began, "check it with passerelle doctor --invariants before you serve from it; first stop the processes on the old database, because both would send")
}

// skippedView is the output of --ids-only.
type skippedView struct {
	Tables     int64 `json:"tables"`
	SkippedIDs int64 `json:"skipped_ids"`
}

// skip skips ids. It refuses a SQLite database that a server uses, because that server has reserved
// ids. For PostgreSQL, the command cannot know whether a server uses the database.
func (r *restoreCommand) skip(c *console) error {
	return r.do(c, nil, func(db *store.DB) (any, error) {
		if _, err := db.Database.LockOut(c.ctx); err != nil {
			return nil, err
		}
		tables, err := database.SkipIDs(c.ctx, r.Database, r.SkipIDs)
		return skippedView{tables, r.SkipIDs}, err
	})
}

func showCopy(c *console, file string, began time.Time, note string) error {
	stat, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read the size of the copy: %w", err)
	}
	return c.show(copyView{file, stat.Size(), time.Since(began).Round(time.Millisecond).String(), note})
}
