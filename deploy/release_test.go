//go:build release

package deploy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "passerelle-release-"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(work)
	os.Exit(status)
}

const signer = "releases@passerelle.invalid"

// key makes a signing key and a file with the keys that are allowed to sign.
var key = sync.OnceValues(func() (string, error) {
	file := filepath.Join(work, "key")
	if err := run(work, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", signer, "-f", file); err != nil {
		return "", err
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file+".allowed", []byte(signer+" "+string(public)), 0o600)
})

// released returns the result of scripts/release for the present commit, in a clone of the
// repository. PASSERELLE_TEST_RELEASE can name the folder of a release that was made before.
var released = sync.OnceValues(func() (string, error) {
	if folder := os.Getenv("PASSERELLE_TEST_RELEASE"); folder != "" {
		return folder, nil
	}
	return releaseIn(filepath.Join(work, "first"), "")
})

// commit returns the commit at the start of the tests, even if somebody makes another commit while
// the tests run.
var commit = sync.OnceValues(func() (string, error) {
	name, err := exec.CommandContext(context.Background(), "git", "rev-parse", "HEAD").Output()
	return strings.TrimSpace(string(name)), err
})

func releaseIn(folder, cache string) (string, error) {
	signing, err := key()
	if err != nil {
		return "", err
	}
	at, err := commit()
	if err != nil {
		return "", err
	}
	if err := run(".", nil, "git", "clone", "--quiet", "--no-checkout", "..", folder); err != nil {
		return "", err
	}
	if err := run(folder, nil, "git", "checkout", "--quiet", "--detach", at); err != nil {
		return "", err
	}
	environment := []string{"RELEASE_KEY=" + signing}
	if cache != "" {
		environment = append(environment, "GOCACHE="+cache)
	}
	return filepath.Join(folder, "dist"), run(folder, environment, "scripts/release", "dist")
}

func run(folder string, environment []string, name string, args ...string) error {
	command := exec.CommandContext(context.Background(), name, args...)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func release(t *testing.T) string {
	t.Helper()
	folder, err := released()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: found %v, %v, want one file", pattern, found, err)
	}
	return found[0]
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sums(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		sum := sha256.Sum256(content(t, filepath.Join(folder, entry.Name())))
		all[entry.Name()] = hex.EncodeToString(sum[:])
	}
	return all
}

// TestReleaseIsReproducible builds the commit twice, in two folders. The second build uses no
// package that the first build compiled.
func TestReleaseIsReproducible(t *testing.T) {
	first := sums(t, release(t))
	again, err := releaseIn(filepath.Join(work, "elsewhere", "second"), filepath.Join(work, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, sums(t, again)); diff != "" {
		t.Errorf("the second release differs (-first +second):\n%s", diff)
	}
	want := []string{
		"SHA256SUMS", "SHA256SUMS.sig", "amd64.deb", "arm64.deb", "x86_64.rpm", "aarch64.rpm", "_linux_amd64.tar.gz", "_linux_arm64.tar.gz", "_darwin_arm64.tar.gz", "_windows_amd64.tar.gz",
		"_image.tar", "_chart.tgz", ".cdx.json", "_provenance.json", "_notes.md",
	}
	for name := range first {
		if !slices.ContainsFunc(want, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
			t.Errorf("%s was not expected", name)
		}
	}
	if len(first) != len(want) {
		t.Errorf("the release has %v, want a file for each of %v", slices.Sorted(maps.Keys(first)), want)
	}
}

type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType            string `json:"buildType"`
			ResolvedDependencies []struct {
				Name   string            `json:"name"`
				Digest map[string]string `json:"digest"`
			} `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder struct {
				ID string `json:"id"`
			} `json:"builder"`
		} `json:"runDetails"`
	} `json:"predicate"`
}

func TestReleaseIsSignedAndSaysWhereItComesFrom(t *testing.T) {
	folder := release(t)
	signing, err := key()
	if err != nil {
		t.Fatal(err)
	}
	verify := func(text []byte) error {
		command := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", signing+".allowed", "-I", signer, "-n", "passerelle-release", "-s", filepath.Join(folder, "SHA256SUMS.sig"))
		command.Stdin = bytes.NewReader(text)
		return command.Run()
	}
	listed := content(t, filepath.Join(folder, "SHA256SUMS"))
	if err := verify(listed); err != nil {
		t.Errorf("the signature does not verify: %v", err)
	}
	if err := verify(append(listed, '\n')); err == nil {
		t.Error("the signature verifies other sums")
	}
	if err := run(folder, nil, "sha256sum", "--check", "--strict", "SHA256SUMS"); err != nil {
		t.Error(err)
	}
	at, err := commit()
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(content(t, one(t, "*_provenance.json")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || s.Predicate.BuildDefinition.BuildType == "" || s.Predicate.RunDetails.Builder.ID == "" {
		t.Errorf("the provenance is %+v", s)
	}
	if source := s.Predicate.BuildDefinition.ResolvedDependencies[0]; source.Digest["gitCommit"] != at {
		t.Errorf("the source is %v, want the commit %s", source, at)
	}
	all := sums(t, folder)
	for _, subject := range s.Subject {
		if all[subject.Name] != subject.Digest["sha256"] {
			t.Errorf("the provenance has another sum of %s", subject.Name)
		}
	}
	if len(s.Subject) != len(all)-3 { // all files except the provenance, the sums and the signature
		t.Errorf("the provenance names %d files of %d", len(s.Subject), len(all))
	}
}

func TestReleaseListsItsModules(t *testing.T) {
	var bill struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(content(t, one(t, "*.cdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	for _, component := range bill.Components {
		modules[component.Name] = component.Version
	}
	for _, name := range []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/prometheus/client_golang"} {
		if modules[name] == "" {
			t.Errorf("the bill of materials lacks %s", name)
		}
	}
	if notes := content(t, one(t, "*_notes.md")); !bytes.Contains(notes, []byte("\n- ")) || bytes.Contains(notes, []byte("\n## ")) {
		t.Errorf("the notes are not one section of the changelog: %.200s", notes)
	}
}
