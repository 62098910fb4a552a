package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// run runs the program for a database. It passes passwords in the environment or in a file, because
// other users of the machine can read arguments.
func (p postgresProgram) run(ctx context.Context, target string, args ...string) error {
	to, err := database.ForPrograms(target)
	if err != nil {
		return passerelle.InvalidField("--database", "%v", err)
	}
	path, err := exec.LookPath(p.name)
	if err != nil {
		return fmt.Errorf("%s is required but not installed: install PostgreSQL's client programs, in the server's version or newer: %w", p.name, err)
	}
	command := exec.CommandContext(ctx, path, append([]string{"--dbname=" + to.URL}, args...)...)
	service, remove, err := serviceFile(to.KeyPassword, command.Environ())
	if err != nil {
		return err
	}
	defer remove()
	output := &programOutput{said: p.said}
	command.Env, command.Stderr = slices.Concat(command.Environ(), to.Environment, service, []string{"LC_ALL=C"}), output // the program then writes in English
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

// serviceFile writes the password of a private key, if any, into a temporary service file. It
// returns the variables that name the service, and a function that removes the file. Parameters of
// an address override the parameters of a service. If there is a password and the environment
// already names a service, serviceFile fails.
func serviceFile(keyPassword string, environment []string) ([]string, func(), error) {
	if keyPassword == "" {
		return nil, func() {}, nil
	}
	if slices.ContainsFunc(environment, func(v string) bool { return strings.HasPrefix(v, "PGSERVICE=") }) {
		return nil, nil, passerelle.InvalidField("--database", "has the parameter sslpassword beside the variable PGSERVICE: write sslpassword into the file of the service instead")
	}
	file, err := os.CreateTemp("", "passerelle-service-*.conf") // only its owner can read it
	if err != nil {
		return nil, nil, fmt.Errorf("create a service file: %w", err)
	}
	remove := func() { _ = os.Remove(file.Name()) }
	_, err = fmt.Fprintf(file, "[passerelle]\nsslpassword=%s\n", keyPassword)
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return nil, nil, fmt.Errorf("write a service file: %w", err)
	}
	return []string{"PGSERVICEFILE=" + file.Name(), "PGSERVICE=passerelle"}, remove, nil
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
