package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/secretfile"
	"passerelle/internal/store"
)

type filesCommand struct {
	Orphans filesOrphans `cmd:"" help:"List the stored files that the database does not know, such as those that were stored after the copy of a restored database." resume:"only listed files were removed, and the same command does the rest"`
}

type filesOrphans struct {
	databaseFlag
	Files     string `help:"Store for files, as for passerelle serve: a folder, or s3://… . The default is the folder passerelle-files, beside a SQLite database or in the working directory."`
	FilesFile string `placeholder:"FILE" help:"File with the value of --files, readable only by its owner."`
	Remove    bool   `help:"Remove these files. Name the database from which the service runs: every other database knows fewer files."`
}

// These are the number of files in one query, and the maximum number of files in the output.
const (
	orphanBatch = 512
	orphansMost = 100
)

// orphansView is the output of the command files orphans. The field First contains the ids of
// orphans, at most orphansMost.
type orphansView struct {
	Files   int64               `json:"files"`
	Orphans int64               `json:"orphans"`
	Removed int64               `json:"removed"`
	First   []passerelle.FileID `json:"first"`
}

// Run compares the stored files with the database. Meanwhile the service may run, because it writes
// rows before files.
func (f *filesOrphans) Run(c *console) error {
	if err := secretfile.Read(secretfile.Value{Flag: "--files", File: &f.FilesFile, Value: &f.Files}); err != nil {
		return err
	}
	place := cmp.Or(f.Files, ownFiles(f.Database))
	if err := blob.Check(place); err != nil {
		return passerelle.InvalidField("--files", "%v", err)
	}
	if !strings.HasPrefix(place, "s3://") {
		if _, err := os.Stat(place); err != nil {
			return passerelle.InvalidField("--files", "there is no such folder: %s", place)
		}
	}
	kept, err := blob.New(place)
	if err != nil {
		return fmt.Errorf("--files: %w", err)
	}
	return f.do(c, nil, func(db *store.DB) (any, error) {
		meter := c.meter("files")
		defer meter.End()
		meter.Expect(0, "files")
		view := orphansView{First: []passerelle.FileID{}}
		err := kept.Each(c.ctx, orphanBatch, func(ids []passerelle.FileID) error {
			orphans, err := bankstore.From(db).WithoutRow(c.ctx, ids)
			if err != nil {
				return fmt.Errorf("find the rows of files: %w", err)
			}
			view.Files += int64(len(ids))
			view.Orphans += int64(len(orphans))
			view.First = append(view.First, orphans[:min(len(orphans), orphansMost-len(view.First))]...)
			meter.At(view.Files)
			return f.remove(c, kept, orphans, &view)
		})
		return view, err
	})
}

func (f *filesOrphans) remove(c *console, kept blob.Store, orphans []passerelle.FileID, view *orphansView) error {
	if !f.Remove {
		return nil
	}
	for _, id := range orphans {
		if err := kept.Remove(c.ctx, id); err != nil {
			return err
		}
		view.Removed++
	}
	return nil
}
