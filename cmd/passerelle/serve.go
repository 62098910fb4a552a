package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/database"
	"passerelle/internal/domains"
	"passerelle/internal/httpd"
	"passerelle/internal/mail"
	"passerelle/internal/secretfile"
	"passerelle/internal/service"
	"passerelle/internal/supervision"
	"passerelle/internal/tracing/otlp"
)

// ending contains the durations of a shutdown. delay is the time in which the program still accepts
// connections. drain is the limit for requests that still run after that.
type ending struct{ delay, drain time.Duration }

// devEnding contains the durations for the command dev. The command serve has flags for them.
var devEnding = ending{drain: 30 * time.Second}

type serveCommand struct {
	Database string `help:"Database: postgres://… or, for one process, sqlite:PATH. This flag or --database-file is required."`
	secretfile.Flags
	Listen  string `required:"" help:"Address to listen on."`
	BaseURL string `required:"" help:"Base URL of the first domain, such as https://bank.example/2.0."`
	KeyFile string `required:"" help:"Key file of the deployment, readable only by its owner. passerelle keys create creates one." type:"path"`
	Files   string `help:"Store for files: a folder that all processes share, or s3://KEY:SECRET@HOST/BUCKET[/PREFIX][?region=REGION]. The default is the folder passerelle-files, beside a SQLite database or in the working directory."`
	TLSCert string `name:"tls-cert" help:"Certificate chain in PEM. Without one, a proxy must provide TLS. A running service reads the files of the certificate again each minute and on SIGHUP." type:"path"`
	TLSKey  string `name:"tls-key" help:"Private key of the certificate in PEM." type:"path"`
	bankFolder
	TrustedProxies []string `help:"Networks of trusted proxies, as CIDR. The service uses the X-Forwarded headers of these proxies."`
	outbound
	bounds
	identities
	Traces          otlp.ReceiverFlags `embed:""`
	OpsListen       string             `default:"127.0.0.1:9464" help:"Address for metrics; empty for none."`
	Profiles        bool               `help:"Serve Go profiles (pprof) at --ops-listen. Profiles show memory contents, so keep that address private."`
	ConsoleListen   string             `help:"Serve the console only at this address instead of --listen. none switches it off."`
	ShutdownDelay   time.Duration      `default:"0s" least:"0s" help:"Time after SIGTERM in which /readyz fails and the service still accepts connections, so that load balancers notice."`
	ShutdownTimeout time.Duration      `default:"30s" least:"1ms" help:"Time for running requests to finish after SIGTERM and --shutdown-delay."`
	SMTPURL         string             `name:"smtp-url" help:"Mail server for mails about failing webhooks: smtp://user:password@host:587 or smtps://…:465. smtp requires STARTTLS, except on this machine or with ?tls=none."`
	MailFrom        string             `help:"Sender address of mails; required with --smtp-url."`
	NoMigrate       bool               `help:"Refuse an outdated schema instead of migrating it."`
}

// Run serves until the context ends or a listener fails.
func (s *serveCommand) Run(c *console) error {
	config, err := s.config(c)
	if err != nil {
		return err
	}
	if strings.HasPrefix(s.Database, "sqlite:") {
		c.log.Warn("SQLite supports one process; do not run a second replica on this database")
	}
	if err := service.CheckListen(config); err != nil {
		return err
	}
	running, err := service.Open(c.ctx, config)
	if err != nil {
		return err
	}
	if err := s.firstDomain(c, running); err != nil {
		return errors.Join(err, stop(running, time.Second))
	}
	// reload is true even if there is nothing to read again: service managers send SIGHUP anyway, and
	// SIGHUP ends a program that does not expect it.
	return serveUntilDone(c, running, true, ending{delay: s.ShutdownDelay, drain: s.ShutdownTimeout}, func() error {
		return c.show(serving{BaseURL: s.BaseURL, Listen: running.Addr(), Ops: running.OpsAddr(), Console: running.ConsoleAddr()})
	})
}

// serving is the output of serve once it is ready.
type serving struct {
	BaseURL string `json:"base_url"`
	Listen  string `json:"listen"`
	Ops     string `json:"ops"`
	Console string `json:"console,omitempty"`
}

func (s *serveCommand) config(c *console) (service.Config, error) {
	if err := s.Flags.Resolve(&s.Database, &s.Files, &s.SMTPURL); err != nil {
		return service.Config{}, err
	}
	if s.Database == "" {
		return service.Config{}, passerelle.MissingField("--database", "name a database, or use --database-file to name a file that contains its address")
	}
	if err := s.checkAddresses(); err != nil {
		return service.Config{}, err
	}
	_, hostErr := domains.HostOf(passerelle.Sandbox, s.BaseURL) // checks the URL, but not the rule for live domains: the kind is in the database
	if err := errors.Join(hostErr, refuseOpenDatabase(s.Database)); err != nil {
		return service.Config{}, err
	}
	ring, err := openKeys(s.KeyFile)
	if err != nil {
		return service.Config{}, err
	}
	config := service.Config{
		Database: s.Database, Keys: ring, Files: cmp.Or(s.Files, ownFiles(s.Database)), Listen: s.Listen, OpsListen: s.OpsListen, Profiles: s.Profiles, ConsoleListen: s.ConsoleListen, Timing: sandbox.Faithful, Banks: s.Banks,
		Migrate: !s.NoMigrate, Version: version, Log: c.log, Ports: s.AllowPorts, MaxRequests: s.MaxRequests, DatabaseTimeout: s.DatabaseTimeout,
	}
	if config.TrustedProxies, err = networks("--trusted-proxies", s.TrustedProxies); err != nil {
		return config, err
	}
	if config.Networks, err = s.networks(); err != nil {
		return config, err
	}
	if config.Identities, err = s.identities.config(); err != nil {
		return config, err
	}
	if config.Traces, err = s.Traces.Config(); err != nil {
		return config, err
	}
	if config.Mail, err = mailer(s.SMTPURL, s.MailFrom); err != nil {
		return config, err
	}
	config.Certificate, err = s.certificate()
	return config, err
}

// These are examples of the addresses for the API and for metrics.
const (
	listenExample = "127.0.0.1:8080"
	opsExample    = "127.0.0.1:9464"
)

// checkAddresses checks the form of the addresses to listen on. Only --listen is required.
func (s *serveCommand) checkAddresses() error {
	for _, one := range []struct{ flag, address, example string }{
		{"--listen", s.Listen, listenExample}, {"--ops-listen", s.OpsListen, opsExample}, {"--console-listen", s.ConsoleListen, listenExample},
	} {
		if one.flag != "--listen" && (one.address == "" || one.address == service.NoConsole) {
			continue
		}
		if err := checkAddress(one.flag, one.address, one.example); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress fails when a flag is not an address with a port.
func checkAddress(flag, address, example string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return passerelle.InvalidField(flag, "must be an address with a port, such as %s", example)
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil { // reads a local file
		return passerelle.InvalidField(flag, "must have a port from 0 to 65535, such as %s", example)
	}
	return nil
}

// ownFiles returns the default folder for files.
func ownFiles(database string) string {
	const folder = "passerelle-files"
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return filepath.Join(filepath.Dir(path), folder)
	}
	return folder
}

// mailer returns the mail server that the flags define, or nil when they define no server.
func mailer(address, from string) (service.Mailer, error) {
	if address == "" && from == "" {
		return nil, nil //nolint:nilnil // without a mail server, mails wait
	}
	server, err := mail.NewServer(address, from)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// firstDomain creates the first domain in a new database. The domain is live. To get a sandbox,
// operators use the domain command. A later start with a different base URL moves the domain there.
// The old URL then leads to no domain.
func (s *serveCommand) firstDomain(c *console, running *service.Service) error {
	all, err := running.DB.Domains(c.ctx)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	first := passerelle.Domain{Name: "main", Kind: passerelle.Live, BaseURL: s.BaseURL}
	if len(all) > 0 {
		first = all[0]
	}
	if _, err = running.FirstDomain(c.ctx, first.Name, first.Kind, s.BaseURL); err != nil {
		return err
	}
	if first.BaseURL != s.BaseURL {
		c.log.Warn("the first domain has moved: requests for its former base URL no longer work", "domain", first.Name, "from", first.BaseURL, "to", s.BaseURL)
	}
	return nil
}

func (s *serveCommand) certificate() (*httpd.ServerCertificate, error) {
	if s.TLSCert == "" && s.TLSKey == "" {
		return nil, nil //nolint:nilnil // without a certificate, a proxy provides TLS
	}
	certificate, err := httpd.LoadCertificate(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("load --tls-cert and --tls-key: %w", err)
	}
	return certificate, nil
}

// bounds contains the flags that limit the load of a process.
type bounds struct {
	MaxRequests     int64         `default:"512" least:"1" help:"Limit of concurrent requests. Further requests get an immediate 503."`
	DatabaseTimeout time.Duration `default:"30s" least:"1ms" help:"Time limit of a database query, including the wait for a connection."`
}

// outbound contains the flags for the networks and ports to which the service may send webhooks.
type outbound struct {
	AllowNetworks []string `help:"Private networks that may receive webhooks, as CIDR."`
	AllowPorts    []uint16 `least:"1" most:"65535" help:"Ports that may receive webhooks (default: all)."`
}

func (o outbound) networks() ([]netip.Prefix, error) {
	return networks("--allow-networks", o.AllowNetworks)
}

func networks(flag string, texts []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, passerelle.InvalidField(flag, "%q is not a network such as 10.0.0.0/8", text)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// refuseOpenDatabase refuses a database connection that would send payment data over a network
// unencrypted.
func refuseOpenDatabase(address string) error {
	err := database.CheckTransport(address)
	if errors.Is(err, database.ErrOpenTransport) {
		return passerelle.InvalidField("--database", "a remote database needs TLS: add sslmode=verify-full (or require, verify-ca) to the URL")
	}
	if err != nil {
		return passerelle.InvalidField("--database", "%v", err)
	}
	return nil
}

// serveUntilDone starts the program, prints its addresses, and waits until it is stopped or
// a listener fails. If reload is true, SIGHUP makes the program read its certificate and banks again.
func serveUntilDone(c *console, s *service.Service, reload bool, end ending, ready func() error) error {
	service.Ballast()
	s.Start()
	hangup := make(chan os.Signal, 1)
	if reload {
		signal.Notify(hangup, syscall.SIGHUP) // before the program is ready, because the signal ends a program that does not expect it
		defer signal.Stop(hangup)
	}
	if err := ready(); err != nil {
		return errors.Join(err, stop(s, end.drain))
	}
	supervised := supervision.Start(c.ctx, c.log, func(ctx context.Context) error { return alive(ctx, s.OpsAddr()) })
	for {
		select {
		case <-hangup:
			s.Reload(c.ctx)
		case err := <-s.Ended():
			supervised.Stop(end.drain)
			return errors.Join(err, stop(s, end.drain))
		case <-c.ctx.Done():
			c.log.Info("stopping")
			supervised.Stop(end.delay + end.drain)
			return errors.Join(leave(s, end.delay), stop(s, end.drain))
		}
	}
}

// leave waits for a delay, in which load balancers notice that the program will stop. The program
// still accepts requests meanwhile.
func leave(s *service.Service, delay time.Duration) error {
	s.Drain()
	select {
	case err := <-s.Ended():
		return err
	case <-time.After(delay):
		return nil
	}
}

// stop stops the service. drain limits the time.
func stop(s *service.Service, drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	return s.Stop(ctx)
}
