//go:build release

package deploy_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// maxImage is the maximum compressed size of an image, in bytes.
const maxImage = 40 << 20

// blobs maps digests to the contents of an OCI layout.
type blobs map[string][]byte

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	Platform  struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
	Annotations map[string]string `json:"annotations"`
}

type image struct {
	Config descriptor   `json:"config"`
	Layers []descriptor `json:"layers"`

	config struct {
		Architecture, OS string
		Config           struct {
			User, WorkingDir     string
			Entrypoint, Cmd, Env []string
			Healthcheck          struct{ Test []string }
		}
	}
}

func (b blobs) read(t *testing.T, of descriptor, into any) {
	t.Helper()
	text := b[of.Digest]
	if int64(len(text)) != of.Size {
		t.Fatalf("the blob %s has %d bytes, want %d", of.Digest, len(text), of.Size)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func imageFiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	in := tar.NewReader(bytes.NewReader(content(t, one(t, "*_image.tar"))))
	for header, err := in.Next(); err != io.EOF; header, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = text
	}
	return all
}

func images(t *testing.T) (map[string]image, blobs) {
	t.Helper()
	all := blobs{}
	files := imageFiles(t)
	for name, text := range files {
		all["sha256:"+filepath.Base(name)] = text
	}
	var top struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	var index struct{ Manifests []descriptor }
	all.read(t, top.Manifests[0], &index)
	found := map[string]image{}
	for _, manifest := range index.Manifests {
		var one image
		all.read(t, manifest, &one)
		all.read(t, one.Config, &one.config)
		found[manifest.Platform.Architecture] = one
	}
	return found, all
}

func TestImageIsSmallAndHasNoRoot(t *testing.T) {
	found, _ := images(t)
	if len(found) != 2 {
		t.Errorf("there are %d images, want two", len(found))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		i := found[arch]
		size := int64(0)
		for _, layer := range i.Layers {
			size += layer.Size
		}
		t.Logf("%s: %.1f MiB compressed", arch, float64(size)/(1<<20))
		if size == 0 || size > maxImage {
			t.Errorf("%s has %d bytes, want at most %d", arch, size, maxImage)
		}
		if i.config.Architecture != arch || i.config.OS != "linux" {
			t.Errorf("%s is for %s %s", arch, i.config.OS, i.config.Architecture)
		}
		if user := i.config.Config.User; user != "65532:65532" {
			t.Errorf("%s runs as %q", arch, user)
		}
		if got := strings.Join(i.config.Config.Healthcheck.Test, " "); got != "CMD /usr/bin/passerelle healthcheck" {
			t.Errorf("%s has the health check %q", arch, got)
		}
	}
}

// TestImageHasANameAfterItIsLoaded: programs that load an OCI layout get one name, for the index of
// all architectures. Versions of Docker that read manifest.json get one name per architecture.
// manifest.json refers to the same blobs.
func TestImageHasANameAfterItIsLoaded(t *testing.T) {
	files, archive := imageFiles(t), filepath.Base(one(t, "*_image.tar"))
	version := strings.TrimSuffix(strings.TrimPrefix(archive, "passerelle_"), "_image.tar")
	var top struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json names %d images, %v", len(top.Manifests), err)
	}
	want := map[string]string{"io.containerd.image.name": "docker.io/library/passerelle:" + version, "org.opencontainers.image.ref.name": version}
	if diff := cmp.Diff(want, top.Manifests[0].Annotations); diff != "" {
		t.Errorf("the annotations (-want +got):\n%s", diff)
	}
	var loaded []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &loaded); err != nil {
		t.Fatal(err)
	}
	found, _ := images(t)
	if len(loaded) != len(found) {
		t.Errorf("manifest.json names %d images of %d", len(loaded), len(found))
	}
	path := func(of descriptor) string { return "blobs/" + strings.Replace(of.Digest, ":", "/", 1) }
	for _, entry := range loaded {
		_, arch, _ := strings.Cut(entry.RepoTags[0], version+"-")
		i := found[arch]
		if entry.RepoTags[0] != "passerelle:"+version+"-"+arch || entry.Config != path(i.Config) || len(entry.Layers) != 1 || entry.Layers[0] != path(i.Layers[0]) {
			t.Errorf("%s: %+v", arch, entry)
		}
		for _, name := range append(entry.Layers, entry.Config) {
			if len(files[name]) == 0 {
				t.Errorf("%s: there is no file %s", arch, name)
			}
		}
	}
}

type container struct {
	t                   *testing.T
	image               image
	root, data, secrets string
}

func unpack(t *testing.T) *container {
	t.Helper()
	found, all := images(t)
	c := &container{t: t, image: found[runtime.GOARCH], root: t.TempDir(), data: t.TempDir(), secrets: t.TempDir()}
	for _, layer := range c.image.Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(all[layer.Digest]))
		if err != nil {
			t.Fatal(err)
		}
		in := tar.NewReader(unzipped)
		for header, err := in.Next(); err != io.EOF; header, err = in.Next() {
			if err != nil {
				t.Fatal(err)
			}
			c.place(header, in)
		}
	}
	for _, mount := range []string{"proc", "dev", "run/secrets"} { // like a container runtime
		if err := os.MkdirAll(filepath.Join(c.root, mount), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *container) place(header *tar.Header, in io.Reader) {
	c.t.Helper()
	name, mode := filepath.Join(c.root, header.Name), fs.FileMode(header.Mode).Perm()
	if header.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(name, mode); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	text, err := io.ReadAll(in)
	if err == nil {
		err = os.WriteFile(name, text, mode)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// command returns a command that runs the program in the image, without privileges and as the user
// of the image.
func (c *container) command(ctx context.Context, environment []string, args ...string) *exec.Cmd {
	user, group, _ := strings.Cut(c.image.config.Config.User, ":")
	sandbox := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--uid", user, "--gid", group, "--cap-drop", "ALL", "--clearenv",
		"--ro-bind", c.root, "/", "--bind", c.data, "/var/lib/passerelle", "--ro-bind", c.secrets, "/run/secrets", "--proc", "/proc", "--dev", "/dev",
		"--chdir", c.image.config.Config.WorkingDir,
	}
	for _, pair := range append(c.image.config.Config.Env, environment...) {
		name, value, _ := strings.Cut(pair, "=")
		sandbox = append(sandbox, "--setenv", name, value)
	}
	return exec.CommandContext(ctx, "bwrap", append(append(sandbox, c.image.config.Config.Entrypoint...), args...)...)
}

func (c *container) must(args ...string) {
	c.t.Helper()
	if out, err := c.command(c.t.Context(), nil, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// TestImageServes runs the image with TLS, PostgreSQL and a key file, on a read-only root file
// system.
func TestImageServes(t *testing.T) {
	c := unpack(t)
	trusted := selfSigned(t, c.secrets)
	c.must("keys", "create", "--key-file", "/var/lib/passerelle/keys")
	if err := os.WriteFile(filepath.Join(c.secrets, "database"), []byte(storetest.Postgres(t)), 0o400); err != nil {
		t.Fatal(err)
	}
	ops := servicetest.FreeAddress(t)
	environment := []string{
		"PASSERELLE_DATABASE_FILE=/run/secrets/database", "PASSERELLE_KEY_FILE=/var/lib/passerelle/keys", "PASSERELLE_BASE_URL=https://localhost/2.0", "PASSERELLE_LISTEN=127.0.0.1:0", "PASSERELLE_OPS_LISTEN=" + ops,
		"PASSERELLE_TLS_CERT=/run/secrets/cert.pem", "PASSERELLE_TLS_KEY=/run/secrets/key.pem",
	}
	serve := c.command(context.Background(), environment, append(c.image.config.Config.Cmd, "--json")...)
	serve.Stderr = t.Output()
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the image did not become ready: %v", err)
	}
	var ready struct{ Listen string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "localhost"}}}
	answer, err := client.Get("https://" + ready.Listen + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/readyz answers %d", answer.StatusCode)
	}
	health := func() error {
		check := strings.TrimPrefix(strings.Join(c.image.config.Config.Healthcheck.Test, " "), "CMD /usr/bin/passerelle ")
		return c.command(t.Context(), []string{"PASSERELLE_OPS_LISTEN=" + ops}, check).Run()
	}
	if err := health(); err != nil {
		t.Errorf("the health check fails: %v", err)
	}
	if err := syscall.Kill(servicePID(t, serve.Process.Pid), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("the image does not stop: %v", err)
	}
	if health() == nil {
		t.Error("the health check holds when nothing runs")
	}
}

// servicePID returns the id of the service's process, which is a descendant of the sandbox's
// process.
func servicePID(t *testing.T, parent int) int {
	t.Helper()
	for pid := parent; ; {
		if program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(program) == "passerelle" {
			return pid
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(children), &pid); err != nil {
			t.Fatalf("no service below process %d: %v", parent, err)
		}
	}
}

func selfSigned(t *testing.T, folder string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	certificate := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, certificate, certificate, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"cert.pem": chain, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(chain)
	return pool
}
