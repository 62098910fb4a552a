package service_test

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"passerelle/internal/service"
	"passerelle/internal/store/storetest"
)

// TestEveryListenerThatFailsIsReported checks that the end of any listener is reported, so that the
// process does not go on without it.
func TestEveryListenerThatFailsIsReported(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, OpsListen: "127.0.0.1:0", ConsoleListen: "127.0.0.1:0"})
	s.Start()
	for name, address := range map[string]string{"ops": s.OpsAddr(), "console": s.ConsoleAddr(), "API": s.Addr()} {
		shutDown(t, address)
		select {
		case err := <-s.Ended():
			if err == nil || !strings.Contains(err.Error(), address) {
				t.Errorf("the end of the listener %s (%s) is reported as %v", name, address, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("the end of the listener %s is not reported", name)
		}
	}
}

// shutDown makes a listener of this process fail.
func shutDown(t *testing.T, address string) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range open {
		fd, _ := strconv.Atoi(entry.Name())
		bound, _ := syscall.Getsockname(fd) // most descriptors are no sockets
		listens, _ := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
		at, isIPv4 := bound.(*syscall.SockaddrInet4)
		if !isIPv4 || listens == 0 || netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)).String() != address {
			continue
		}
		if err := syscall.Shutdown(fd, syscall.SHUT_RDWR); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("nothing listens on %s", address)
}
