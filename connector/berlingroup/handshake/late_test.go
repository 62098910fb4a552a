package handshake_test

import (
	"bufio"
	"crypto/x509"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/connector/berlingroup/handshake"
	"passerelle/internal/leftout"
)

// startLate starts a bank with TLS 1.2 that asks for the client's certificate only after it has read
// a request, and then answers. Package tls has no such server, so the bank is OpenSSL. startLate
// returns its address.
func startLate(t *testing.T, authority *berlingrouptest.Authority) string {
	t.Helper()
	folder, key := t.TempDir(), berlingrouptest.NewKey(t)
	own := authority.Sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"own.pem": berlingrouptest.Encode("CERTIFICATE", own.Raw), "own.key": berlingrouptest.Encode("PRIVATE KEY", der), "ca.pem": berlingrouptest.Encode("CERTIFICATE", authority.Certificate.Raw),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bank := exec.CommandContext(t.Context(), "openssl", "s_server", "-tls1_2", "-accept", "127.0.0.1:0", "-cert", "own.pem", "-key", "own.key", "-CAfile", "ca.pem")
	bank.Dir = folder
	in, err := bank.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	bank.Stdout, bank.Stderr = said, said
	if err := bank.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bank.Process.Kill()
		_, _ = bank.Process.Wait()
		_ = said.Close()
		_ = out.Close()
	})
	address := make(chan string, 1)
	go converse(bufio.NewScanner(out), in, address)
	return <-address
}

// converse plays the bank: it types the commands and the answer into the program.
func converse(said *bufio.Scanner, in io.Writer, address chan<- string) {
	for said.Scan() {
		switch line := said.Text(); {
		case strings.HasPrefix(line, "ACCEPT "):
			address <- strings.TrimPrefix(line, "ACCEPT ")
		case line == "an order":
			_, _ = io.WriteString(in, "R\n") // asks for the certificate
		case line == "verify return:1":
			_, _ = io.WriteString(in, "an answer\n")
		}
	}
	close(address)
}

// TestLateRequestForTheCertificate checks that a bank can ask for the certificate after it has read a
// request, as some gateways do in TLS 1.2.
func TestLateRequestForTheCertificate(t *testing.T) {
	leftout.Needs(t, "openssl")
	authority, key := berlingrouptest.NewAuthority(t), keys(t)["RSA"]
	own, program := newDialer(authority, key, ""), newDialer(authority, key, write(t, key, opensslProgram))
	own.Program, own.Own.PrivateKey = nil, key
	for name, d := range map[string]*handshake.Dialer{"a key": own, "a program": program} {
		t.Run(name, func(t *testing.T) {
			conn, err := d.DialTaken(t.Context(), "tcp", startLate(t, authority))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(conn, "an order\n"); err != nil {
				t.Fatal(err)
			}
			if got, err := bufio.NewReader(conn).ReadString('\n'); got != "an answer\n" {
				t.Errorf("the bank answers %q, %v", got, err)
			}
		})
	}
}
