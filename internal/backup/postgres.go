package backup

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/progress"
)

// maxComplaint limits the quoted output of a failed program, in bytes.
const maxComplaint = 2000

// postgresProgram is a program of PostgreSQL. The function said receives each line that the program
// writes about its work.
type postgresProgram struct {
	name string
	said func(line string)
}

// run runs the program for a database. It passes the user's password in the environment, because
// other users of the machine can read arguments.
func (p postgresProgram) run(ctx context.Context, target string, args ...string) error {
	address, environment, err := database.ForPrograms(target)
	if err != nil {
		return passerelle.InvalidField("--database", "is not a URL such as postgres://user@host/name")
	}
	environment = append(environment, "LC_ALL=C") // the program then writes in English
	path, err := exec.LookPath(p.name)
	if err != nil {
		return fmt.Errorf("%s is required but not installed: install PostgreSQL's client programs, in the server's version or newer: %w", p.name, err)
	}
	command := exec.CommandContext(ctx, path, append([]string{"--dbname=" + address}, args...)...)
	output := &programOutput{said: p.said}
	command.Env, command.Stderr = append(command.Environ(), environment...), output
	err = command.Run()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.name, ctx.Err()) // the program only says that it was killed
	}
	if err != nil {
		said := output.complaint.String()
		return fmt.Errorf("%s: %w: %s", p.name, err, said[:min(len(said), maxComplaint)])
	}
	return nil
}

// programOutput separates a program's output into complaints and lines about the program's work.
type programOutput struct {
	said      func(line string)
	rest      []byte
	complaint bytes.Buffer
}

// complains matches a line that is a complaint. Other lines are about the program's work.
var complains = regexp.MustCompile(`^pg_\w+: (error|fatal|warning|detail|hint): |^(pg_$|[^p]|p[^g])`)

// Write handles a part of the output.
func (s *programOutput) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.rest = rest
		if !complains.Match(line) {
			s.said(string(line))
			continue
		}
		s.complaint.Write(line)
		s.complaint.WriteByte('\n')
	}
}

// tables returns a function that shows the progress of pg_dump: the total size of the tables that
// pg_dump has copied.
func tables(sizes map[string]int64, meter *progress.Meter) func(string) {
	var total, done, present int64
	for _, size := range sizes {
		total += size
	}
	meter.Expect(total, progress.Bytes)
	return func(line string) {
		if _, table, found := strings.Cut(line, `dumping contents of table "`); found {
			done += present
			present = sizes[strings.TrimSuffix(table, `"`)]
			meter.At(done)
		}
	}
}

// entries returns a function that shows the progress of pg_restore: the number of entries that
// pg_restore has begun to restore.
func entries(ctx context.Context, file string, meter *progress.Meter) func(string) {
	var total, done int64
	if list, err := exec.CommandContext(ctx, "pg_restore", "--list", file).Output(); err == nil { // after an error, the number of entries is unknown
		for line := range strings.Lines(string(list)) {
			if !strings.HasPrefix(line, ";") {
				total++
			}
		}
	}
	meter.Expect(total, "entries")
	return func(line string) {
		for _, act := range []string{": creating ", ": processing data ", ": executing "} {
			if strings.Contains(line, act) {
				done++
				meter.At(done)
			}
		}
	}
}
