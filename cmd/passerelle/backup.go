package main

import (
	"fmt"
	"os"
	"time"

	"passerelle/internal/backup"
)

type backupCommand struct {
	databaseFlag
	To string `required:"" placeholder:"FILE" type:"path" help:"File to write. An existing file is never replaced."`
}

// copyView is the output of backup and restore.
type copyView struct {
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Duration string `json:"duration"`
	Note     string `json:"note"`
}

// Run copies the database while other processes use it.
func (b *backupCommand) Run(c *console) error {
	if err := b.exists(); err != nil {
		return err
	}
	began := time.Now()
	meter := c.meter("backup")
	err := backup.Make(c.ctx, b.Database, b.To, meter)
	meter.End()
	if err != nil {
		return err
	}
	return showCopy(c, b.To, began, "keep the key file as well, apart from the copy: without it nothing secret in it opens; and the files, copied after the database")
}

type restoreCommand struct {
	databaseFlag
	From string `required:"" placeholder:"FILE" type:"path" help:"Copy made by passerelle backup."`
}

// Run makes a database from a copy.
func (r *restoreCommand) Run(c *console) error {
	began := time.Now()
	meter := c.meter("restore")
	err := backup.Restore(c.ctx, r.From, r.Database, meter)
	meter.End()
	if err != nil {
		return err
	}
	return showCopy(c, r.From, began, "look at it with passerelle doctor --invariants before it is served from; then stop what served from the old one, as both would send")
}

func showCopy(c *console, file string, began time.Time, note string) error {
	stat, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("look at the copy: %w", err)
	}
	return c.show(copyView{file, stat.Size(), time.Since(began).Round(time.Millisecond).String(), note})
}
