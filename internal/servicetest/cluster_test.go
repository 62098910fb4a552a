package servicetest_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/leftout"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestClusterReleasesItsMemory: after a test, no shared memory of its PostgreSQL server is left. Such
// memory would stay in use until the machine starts again.
func TestClusterReleasesItsMemory(t *testing.T) {
	var segment string
	var files []string
	t.Run("server", func(t *testing.T) {
		c := servicetest.StartCluster(t)
		data := storetest.Inspect(t, c.URL()).Lines(map[string]string{"data": "SHOW data_directory"})["data"][0]
		about := strings.Split(string(must(os.ReadFile(filepath.Join(strings.Trim(data, `[]"`), "postmaster.pid")))), "\n")
		segment = strings.Fields(about[6])[1] // the line has a key and an id
		files = regexp.MustCompile(`/dev/shm/PostgreSQL\.\d+`).FindAllString(string(must(os.ReadFile("/proc/"+about[0]+"/maps"))), -1)
		if !inUse(segment) {
			t.Fatalf("the server has no segment %s", segment)
		}
	})
	if inUse(segment) {
		t.Errorf("the segment %s is left", segment)
	}
	for _, file := range files {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
}

// inUse reports whether the machine has a segment of shared memory.
func inUse(segment string) bool {
	lines := strings.Split(string(must(os.ReadFile("/proc/sysvipc/shm"))), "\n")
	return slices.ContainsFunc(lines, func(line string) bool {
		fields := strings.Fields(line)
		return len(fields) > 1 && fields[1] == segment
	})
}

// TestKilledTestLeavesNoServer: the server of a test ends with the process of the test, even if that
// process is killed and runs no cleanup.
func TestKilledTestLeavesNoServer(t *testing.T) {
	const victim = "PASSERELLE_TEST_VICTIM"
	if os.Getenv(victim) != "" {
		data := storetest.Inspect(t, servicetest.StartCluster(t).URL()).Lines(map[string]string{"data": "SHOW data_directory"})["data"][0]
		pid, _, _ := strings.Cut(string(must(os.ReadFile(filepath.Join(strings.Trim(data, `[]"`), "postmaster.pid")))), "\n")
		_ = must(os.Stdout.WriteString("server " + pid + "\n"))
		<-t.Context().Done()
	}
	if exec.CommandContext(t.Context(), "../../scripts/postgres-bin").Run() != nil {
		leftout.Without(t, "PostgreSQL")
	}
	folder := must(os.MkdirTemp("", "passerelle-victim-")) // the account of the server needs to enter it
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	command := exec.CommandContext(t.Context(), must(os.Executable()), "-test.run=^TestKilledTestLeavesNoServer$")
	command.Env, command.Stderr = append(os.Environ(), victim+"=1", "TMPDIR="+folder), os.Stderr
	out := must(command.StdoutPipe())
	if err := errors.Join(os.Chmod(folder, 0o755), command.Start()); err != nil {
		t.Fatal(err)
	}
	line := must(bufio.NewReader(out).ReadString('\n'))
	_ = command.Process.Kill()
	_ = command.Wait()
	pid, of := strings.CutPrefix(strings.TrimSpace(line), "server ")
	if !of {
		t.Fatalf("the killed test said %q", line)
	}
	for deadline := time.Now().Add(time.Minute); runs(pid); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server %s of the killed test still runs", pid)
		}
	}
}

// runs reports whether a process has not ended.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
