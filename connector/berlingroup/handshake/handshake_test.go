package handshake_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/connector/berlingroup/handshake"
	"passerelle/connector/berlingroup/signing"
	"passerelle/internal/leftout"
)

var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// server is a bank that requires a client certificate.
type server struct {
	address  string
	received atomic.Int64
	shown    chan *x509.Certificate
}

func newServer(t *testing.T, authority *berlingrouptest.Authority, version uint16) *server {
	t.Helper()
	key := berlingrouptest.NewKey(t)
	own := authority.Sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, key)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: pool(authority), MinVersion: version, MaxVersion: version,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &server{address: listener.Addr().String(), shown: make(chan *x509.Certificate, 1)}
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go s.serve(conn.(*tls.Conn))
		}
	}()
	return s
}

func (s *server) serve(conn *tls.Conn) {
	defer conn.Close()
	if conn.HandshakeContext(context.Background()) != nil {
		return
	}
	s.shown <- conn.ConnectionState().PeerCertificates[0]
	n, _ := io.Copy(io.Discard, conn)
	s.received.Add(n)
}

func pool(authority *berlingrouptest.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(authority.Certificate)
	return p
}

func keys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	all := map[string]crypto.Signer{}
	for name, curve := range map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = key
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	all["RSA"] = key
	return all
}

// opensslProgram is the program in docs/banks.md.
const opensslProgram = `#!/bin/sh
case $SIGNATURE_SCHEME in
rsa_pss_rsae_sha256) set -- -pkeyopt rsa_padding_mode:pss -pkeyopt rsa_pss_saltlen:digest -pkeyopt digest:sha256 ;;
rsa_pkcs1_sha256)    set -- -pkeyopt rsa_padding_mode:pkcs1 -pkeyopt digest:sha256 ;;
esac
exec openssl pkeyutl -sign -inkey qwac.key "$@"
`

// write writes a program and its key. The program runs in no particular folder, so the path of the
// key is absolute.
func write(t *testing.T, key crypto.Signer, program string) string {
	t.Helper()
	folder := t.TempDir()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path, keyPath := filepath.Join(folder, "sign"), filepath.Join(folder, "qwac.key")
	if err := os.WriteFile(keyPath, berlingrouptest.Encode("PRIVATE KEY", der), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(program, "qwac.key", keyPath)), 0o700); err != nil { //nolint:gosec // a program of the test
		t.Fatal(err)
	}
	return path
}

func newDialer(authority *berlingrouptest.Authority, key crypto.Signer, program string) *handshake.Dialer {
	leaf := authority.Sign(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, key)
	return &handshake.Dialer{
		Own: tls.Certificate{Certificate: [][]byte{leaf.Raw}, Leaf: leaf}, Program: &signing.Program{Command: []string{program}, Limit: 10 * time.Second},
		Authorities: pool(authority), Limit: 10 * time.Second,
	}
}

func TestProgramSigns(t *testing.T) {
	leftout.Needs(t, "openssl")
	authority := berlingrouptest.NewAuthority(t)
	for kind, key := range keys(t) {
		program := write(t, key, opensslProgram)
		for name, version := range versions {
			t.Run(kind+" "+name, func(t *testing.T) {
				bank, d := newServer(t, authority, version), newDialer(authority, key, program)
				if !handshake.Usable(d.Own.Leaf) {
					t.Error("the certificate is not usable")
				}
				for _, dial := range []func(context.Context, string, string) (net.Conn, error){d.Dial, d.DialTaken} {
					conn, err := dial(t.Context(), "tcp", bank.address)
					if err != nil {
						t.Fatal(err)
					}
					if !(<-bank.shown).Equal(d.Own.Leaf) {
						t.Error("the bank saw another certificate")
					}
					_ = conn.Close()
				}
			})
		}
	}
}

// TestProgramDoesNotSign: when the program fails, the error names the field and the remedy, and the
// bank receives nothing.
func TestProgramDoesNotSign(t *testing.T) {
	leftout.Needs(t, "openssl")
	authority, key := berlingrouptest.NewAuthority(t), berlingrouptest.NewKey(t)
	for _, test := range []struct{ name, program, says string }{
		{"hangs", "#!/bin/sh\nexec sleep 60\n", "it took longer than 300ms"},
		{"fails", "#!/bin/sh\nexit 3\n", "exit status 3"},
		{"says nothing", "#!/bin/sh\nexit 0\n", "not a signature by the key of tls.certificate"},
		{"signs something else", "#!/bin/sh\nhead -c 32 /dev/zero | openssl pkeyutl -sign -inkey qwac.key\n", "not a signature by the key of tls.certificate"},
		{"talks on", "#!/bin/sh\nexec cat /dev/zero\n", "its output is too long"},
		{"does not exist", "#!/nowhere/sh\n", "no such file"},
	} {
		program := write(t, key, test.program)
		for name, version := range versions {
			t.Run(test.name+" "+name, func(t *testing.T) {
				bank, d := newServer(t, authority, version), newDialer(authority, key, program)
				if test.name == "hangs" {
					d.Program.Limit = 300 * time.Millisecond
				}
				conn, err := d.Dial(t.Context(), "tcp", bank.address)
				var unsigned *handshake.Unsigned
				if !errors.As(err, &unsigned) || conn != nil {
					t.Fatalf("the handshake ends with %v", err)
				}
				text := unsigned.Error()
				if !strings.HasPrefix(text, "tls.command did not sign: ") || !strings.Contains(text, test.says) || !strings.HasSuffix(text, "run it by hand to see why") {
					t.Errorf("the error is %q, want %q in it", text, test.says)
				}
				if n := bank.received.Load(); n > 0 {
					t.Errorf("the bank received %d bytes", n)
				}
			})
		}
	}
}

// TestSlowProgramDelaysNoOrder: DialTaken does not wait longer for a refusal of the certificate
// when the program is slow.
func TestSlowProgramDelaysNoOrder(t *testing.T) {
	leftout.Needs(t, "openssl")
	authority, key := berlingrouptest.NewAuthority(t), berlingrouptest.NewKey(t)
	program := write(t, key, strings.Replace(opensslProgram, "exec", "sleep 1\nexec", 1))
	bank, d := newServer(t, authority, tls.VersionTLS13), newDialer(authority, key, program)
	begun := time.Now()
	conn, err := d.DialTaken(t.Context(), "tcp", bank.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if took := time.Since(begun); took > 1900*time.Millisecond {
		t.Errorf("the connection took %v", took)
	}
}

func TestEndedCallEndsProgram(t *testing.T) {
	authority, key := berlingrouptest.NewAuthority(t), berlingrouptest.NewKey(t)
	bank, d := newServer(t, authority, tls.VersionTLS12), newDialer(authority, key, write(t, key, "#!/bin/sh\nexec sleep 60\n"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := d.Dial(ctx, "tcp", bank.address); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}
