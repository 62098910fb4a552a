package servicetest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
