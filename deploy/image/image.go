//go:build ignore

// This program makes the container image, without a daemon and without a base image.
//
// It owns the layout of the image and its configuration. It does not build the service:
// scripts/release does, and then runs this file with the modules in release.mod. The same programs,
// version and time result in the same bytes. This program fails when it cannot read an input or
// write the image.
//
//	go run -modfile=release.mod deploy/image/image.go -version V -created TIME -to FILE amd64=PROGRAM arm64=PROGRAM
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// name is the name of the image after it is loaded. Its tag is the version.
const name = "passerelle"

// user is a number, so that Kubernetes can check that the user is not root.
const user = 65532

func main() {
	version := flag.String("version", "", "version of the program")
	created := flag.String("created", "", "time of the commit, RFC 3339")
	to := flag.String("to", "", "file to write: a tar with an OCI layout that Docker can also load")
	flag.Parse()
	if err := write(*version, *created, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(version, created, to string, programs []string) error {
	at, err := time.Parse(time.RFC3339, created)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var loaded []dockerImage
	for _, one := range programs {
		arch, program, _ := strings.Cut(one, "=")
		image, err := imageOf(version, arch, program, at)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		docker, err := dockerImageOf(image, name+":"+version+"-"+arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		loaded = append(loaded, docker)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
			// Docker and containerd take the name from the first annotation, and skopeo from the
			// second.
			"io.containerd.image.name":          "docker.io/library/" + name + ":" + version,
			"org.opencontainers.image.ref.name": version,
		}))
	}
	if err == nil {
		err = writeDockerManifest(filepath.Join(folder, "manifest.json"), loaded)
	}
	if err != nil {
		return err
	}
	return pack(folder, to, at)
}

// dockerImage is an entry of manifest.json. Versions of Docker that store images without containerd
// read this file instead of the layout. They store one architecture for each name, so the name
// contains the architecture.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func dockerImageOf(image v1.Image, tag string) (dockerImage, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return dockerImage{}, err
	}
	one := dockerImage{Config: blobPath(manifest.Config.Digest), RepoTags: []string{tag}}
	for _, layer := range manifest.Layers {
		one.Layers = append(one.Layers, blobPath(layer.Digest))
	}
	return one, nil
}

// blobPath returns the path of a blob in an OCI layout.
func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

func writeDockerManifest(path string, loaded []dockerImage) error {
	text, err := json.Marshal(loaded)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func imageOf(version, arch, program string, at time.Time) (v1.Image, error) {
	text, err := files(program, at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "scripts/release"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configOf(image, version, arch, at))
}

func configOf(image v1.Image, version, arch string, at time.Time) *v1.ConfigFile {
	file, err := image.ConfigFile()
	if err != nil {
		panic(err) // imageOf made the image from parts in memory, so its configuration can always be read
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, v1.Time{Time: at}
	file.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", user, user),
		Entrypoint: []string{"/usr/bin/passerelle"},
		Cmd:        []string{"serve"},
		WorkingDir: "/var/lib/passerelle",
		Env: []string{
			"PATH=/usr/bin",
			"PASSERELLE_LISTEN=:8080",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/passerelle": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/passerelle", "healthcheck"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Passerelle",
			"org.opencontainers.image.version":  version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return file
}

// files returns the only layer: the program, its data folder, and a name for its user.
func files(program string, at time.Time) ([]byte, error) {
	code, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	out := tar.NewWriter(&text)
	add := func(header tar.Header, content string) {
		header.ModTime, header.Size, header.Format = at, int64(len(content)), tar.FormatPAX
		if err == nil {
			err = out.WriteHeader(&header)
		}
		if err == nil {
			_, err = io.WriteString(out, content)
		}
	}
	for _, folder := range []string{"etc/", "usr/", "usr/bin/", "var/", "var/lib/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}, "")
	}
	add(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, "")
	add(tar.Header{Typeflag: tar.TypeDir, Name: "var/lib/passerelle/", Mode: 0o700, Uid: user, Gid: user}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, fmt.Sprintf("passerelle:x:%d:%d::/var/lib/passerelle:/\n", user, user))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, fmt.Sprintf("passerelle:x:%d:\n", user))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "usr/bin/passerelle", Mode: 0o755}, string(code))
	if err == nil {
		err = out.Close()
	}
	return text.Bytes(), err
}

// pack writes the files of a folder to a tar file, ordered by name.
func pack(folder, to string, at time.Time) error {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer file.Close()
	out := tar.NewWriter(file)
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, ModTime: at, Size: int64(len(content)), Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = out.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return file.Close()
}
