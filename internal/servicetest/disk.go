package servicetest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small disk that a test can fill.
type Disk struct {
	// Folder is the path of the disk.
	Folder string
	t      testing.TB
}

// smallShared is the size of the largest shared memory disk that a test may use as its own, in
// bytes. A container's shared memory disk has 64 MiB by default.
const smallShared = 256 << 20

// SmallDisk makes a disk of a size, such as 96m. The end of the test removes it. SmallDisk needs
// root rights. In a container that forbids mounting, it uses the container's own small memory disk.
func SmallDisk(t testing.TB, size string) *Disk {
	t.Helper()
	d := &Disk{t: t}
	var err error
	if d.Folder, err = os.MkdirTemp("", "passerelle-disk-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d.Folder) })
	mounted := syscall.Mount("tmpfs", d.Folder, "tmpfs", 0, "mode=0755,size="+size)
	if mounted == nil {
		t.Cleanup(func() { _ = syscall.Unmount(d.Folder, syscall.MNT_DETACH) })
		return d
	}
	var shared syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shared); err != nil || shared.Blocks*uint64(shared.Bsize) > smallShared {
		t.Fatalf("make a small disk: mount: %v, and /dev/shm is none; run the test as root, in a container with a /dev/shm of at most %d MiB if it may not mount", mounted, smallShared>>20)
	}
	if d.Folder, err = os.MkdirTemp("/dev/shm", "passerelle-disk-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d.Folder) })
	return d
}

func (d *Disk) ballast() string { return filepath.Join(d.Folder, "ballast") }

// Fill writes to the disk until it is full.
func (d *Disk) Fill() {
	d.t.Helper()
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("fill the disk: %v", err)
	}
}

// Free releases the space that Fill used.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}
