// Package service assembles the parts into one running program: database, use cases, API, pages,
// simulated banks, background loops and listeners.
//
// The package owns the wiring and the order of starting and stopping. The commands and the tests
// therefore run the same program. Package main reads the flags and the environment. The other
// packages own the behaviour of endpoints and pages. Package service fails at the start, before it
// listens, when it cannot use the database, the schema or the key file.
package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/sandbox"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/api"
	"passerelle/internal/audit"
	"passerelle/internal/background"
	"passerelle/internal/bankcall"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/delivery"
	"passerelle/internal/documents"
	"passerelle/internal/httpapi"
	"passerelle/internal/httpd"
	"passerelle/internal/initiation"
	"passerelle/internal/keys"
	"passerelle/internal/notification"
	"passerelle/internal/oidc"
	"passerelle/internal/operators"
	"passerelle/internal/picture"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/tracing/otlp"
	"passerelle/internal/wire"
)

// Config is the configuration of a Service.
type Config struct {
	// Database is the address of the database, for store.Open.
	Database string
	Keys     *keys.Ring
	// Files is the place where the service stores files, as a location for blob.New.
	Files string
	// Listen is the address of the API and its pages. OpsListen is the address for metrics. If
	// OpsListen is empty, the service has no listener for metrics.
	Listen, OpsListen string
	// Profiles makes the listener at OpsListen also serve profiles.
	Profiles bool
	// ConsoleListen is the address of a separate listener for the console, or NoConsole. When it is
	// empty, the console uses the same listener as the API.
	ConsoleListen string
	// Certificate makes the listeners of the API and the console speak HTTPS. It may be nil.
	Certificate *httpd.ServerCertificate
	// Loopback is for a developer's machine. A loopback name that belongs to no domain then means
	// the first domain, and the service may send webhooks to loopback addresses.
	Loopback bool
	// LeaseTimeout is the time for which a change of a connection waits while a sync reads the
	// connection. Zero means ten seconds.
	LeaseTimeout time.Duration
	// Banks is the path of the folder with bank files and logos. It is "" without such a folder.
	Banks string
	// Timing is the timing of the simulated banks.
	Timing sandbox.Timing
	// Networks lists the private networks to which the service may send webhooks and calls to the
	// identity provider.
	Networks []netip.Prefix
	// Ports lists the only ports to which the service may send webhooks. An empty list allows all
	// ports.
	Ports          []uint16
	TrustedProxies []netip.Prefix
	// MaxRequests limits the number of concurrent requests. Zero means DefaultMaxRequests.
	MaxRequests int64
	// MaxBodies limits the bytes of request bodies in memory. Zero means DefaultMaxBodies.
	MaxBodies int64
	// MaxResponses limits the estimated bytes of long responses in memory. Zero means
	// DefaultMaxResponses.
	MaxResponses int64
	// DatabaseTimeout limits the time of a database query or write, including the wait for a
	// connection to the database. Zero means DefaultDatabaseTimeout.
	DatabaseTimeout time.Duration
	// Identities configures the identity provider for operators. It is nil without a provider. The
	// service sets the client that calls the provider.
	Identities *oidc.Config
	// Mail sends the mails about webhooks. If it is nil, mails wait for a process that has a
	// Mailer.
	Mail Mailer
	// Alone gives each database write its own transaction, as in store.Options.
	Alone bool
	// Migrate makes Open apply missing migrations first. Otherwise Open fails when the schema is
	// outdated.
	Migrate bool
	// Traces defines where the service sends traces. The service sets the fields Version and Log.
	Traces otlp.Config
	// Version is the version of the program. Receivers of webhooks and monitoring see it.
	Version string
	Log     *slog.Logger
	// Now returns the real time. Nil means the machine's clock.
	Now func() time.Time
}

// NoConsole is the value of ConsoleListen that disables the console.
const NoConsole = "none"

// DefaultMaxRequests is the default limit of concurrent requests. While some requests wait for a
// few silent banks (see bankcall.MaxCallers), the limit has room for others. The database can
// serve these others in about a second.
const DefaultMaxRequests = 512

// DefaultMaxBodies is the default limit for request bodies in memory, in bytes. It does not count
// the first 16 KiB of each request. Four bodies of the largest accepted size fit, 32 MiB each. The
// limit counts no copies. Memory may contain three copies of a file in base64.
const DefaultMaxBodies = 128 << 20

// DefaultMaxResponses is the default limit for long responses in memory, in bytes. The limit counts
// estimated sizes. The service needs about three times as much memory. 128 lists of 1,000 objects
// fit.
const DefaultMaxResponses = 128 << 20

// DefaultDatabaseTimeout is the default of DatabaseTimeout. Queries normally take less than a
// second. A query that takes longer than the timeout fails, and the client gets an error that asks
// it to try again.
const DefaultDatabaseTimeout = 30 * time.Second

// maxSyncs is the largest number of reads of connections that run in the background at the same
// time because clients requested them. A slow bank uses at most half of it.
const maxSyncs = 128

// maxFileFetches is the largest number of files that the service fetches at the same time because
// readers wait for them.
const maxFileFetches = 16

// Service is the assembled program. The caller opens, starts and stops each Service once.
type Service struct {
	DB          *store.DB
	Access      *access.Access
	Operators   *operators.Operators
	Initiation  *initiation.Initiation
	Delivery    *delivery.Delivery
	Aggregation *aggregation.Aggregation
	Documents   *documents.Documents
	Simulation  *simulation.Simulation
	// Bank is the simulated bank that all test connectors use.
	Bank *sandbox.Bank

	config Config
	// traces exports spans. It is nil without traces.
	traces *otlp.Exporter
	// notifications receives the notifications of banks.
	notifications *notification.Notifications
	// registry contains all connectors. banks contains the banks from files, by path.
	registry connector.Registry
	banks    map[string]*berlingroup.Bank
	// wrongFiles counts the bank files that were wrong when the service last read them.
	wrongFiles atomic.Int64
	// leftOut counts the connector programs that the service could not use when it last read them.
	leftOut atomic.Int64
	// logos has the operator's logos from the folder of bank files.
	logos picture.Logos
	// programs has the connector programs, by the ids of their rows.
	programs  map[int64]program
	reloading sync.Mutex

	api *httpapi.API
	// scenarios are the scenarios of the simulated banks.
	scenarios []wire.Scenario
	// provider identifies operators. It is nil without an identity provider.
	provider      *oidc.Provider
	server        *httpd.Server
	ops           *httpd.Server
	consoleServer *httpd.Server
	// ended has room for an error of each listener.
	ended         chan error
	limiter       *httpd.Limiter
	metrics       *httpd.Metrics
	domainMetrics domainMetrics
	bankHealth    bankHealth
	loops         background.Group
	// syncs runs the reads of connections that clients request and do not wait for. fileFetches
	// fetches the files for which readers wait.
	syncs, fileFetches *background.Pool
	// programFetches has the loops that fetch the due files of connector programs, by UUID. fetching
	// protects it.
	programFetches map[string]*background.Loop
	fetching       sync.Mutex
	// calls has the reads for which requests wait. A read continues when its client leaves.
	calls  background.Calls
	sender *delivery.Sender
	// certificate is the loop that reads the service's certificate again. It is nil without a
	// certificate.
	certificate *background.Loop
	// draining is set when the program is stopping.
	draining atomic.Bool
	// lacksKey is set when the log has said that this process lacks a key.
	lacksKey atomic.Bool
	// warned is the time of the last warning about an unknown proxy, in microseconds since 1970.
	warned atomic.Int64
}

// Open opens the database, assembles the parts and binds the listeners. It does not serve requests
// yet. Before Start, the caller can use the listener's address in the base URL of a domain.
func Open(ctx context.Context, c Config) (*Service, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = httpd.Annotated(cmp.Or(c.Log, slog.New(slog.DiscardHandler)))
	c.Traces.Version, c.Traces.Log = cmp.Or(c.Version, "development"), c.Log
	traces, err := otlp.New(ctx, c.Traces)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, c.Database, store.Options{Keys: c.Keys, Log: c.Log, Alone: c.Alone, Limit: cmp.Or(c.DatabaseTimeout, DefaultDatabaseTimeout)})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Service{config: c, DB: db, traces: traces, metrics: httpd.NewMetrics(), ended: make(chan error, 3), programFetches: map[string]*background.Loop{}}
	s.metrics.Registry().MustRegister(bankMetrics{&s.registry}, &s.domainMetrics, loopMetrics{s.allLoops}, certificateMetrics{c.Certificate}, buildMetrics(cmp.Or(c.Version, "development")), limitMetrics(cmp.Or(c.MaxRequests, DefaultMaxRequests)))
	s.metrics.Registry().MustRegister(countMetric("bank_files_wrong", "Wrong bank files when the service last read the folder (--banks).", &s.wrongFiles),
		countMetric("connector_programs_left_out", "Connector programs that the service could not use when it last read them.", &s.leftOut))
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *Service) prepare(ctx context.Context) error {
	if err := s.readySchema(ctx); err != nil {
		return err
	}
	if err := s.DB.BindKeys(ctx); err != nil {
		return fmt.Errorf("check the keys: %w", err)
	}
	if err := s.DB.Reclaim(ctx); errors.Is(err, store.ErrInUse) {
		return err
	} else if err != nil {
		return fmt.Errorf("take over from the process before: %w", err)
	}
	if err := s.assemble(ctx); err != nil {
		return err
	}
	if err := s.warnOfMails(ctx); err != nil {
		return err
	}
	return s.listen()
}

func (s *Service) readySchema(ctx context.Context) error {
	if s.config.Migrate {
		if err := s.DB.Database.Migrate(ctx); err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
	}
	if err := s.DB.Database.SchemaCurrent(ctx); err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	return nil
}

// assemble makes the use cases, and the loops that call them.
func (s *Service) assemble(ctx context.Context) error {
	c := s.config
	s.Bank, s.bankHealth.process = s.newBank(), rand.Text()
	if err := s.loadBanks(ctx); err != nil {
		return err
	}
	s.Access = &access.Access{DB: s.DB, Now: c.Now}
	s.Operators = &operators.Operators{DB: s.DB, Now: c.Now, MAC: c.Keys.MAC}
	s.Delivery = delivery.New(delivery.Config{
		DB: s.DB, Now: c.Now, Random: rand.Reader, Name: rand.Text(), Agent: s.product(), Tracer: s.traces.Tracer(), Log: c.Log,
		Client: delivery.NewClient(delivery.Outbound{Loopback: c.Loopback, Networks: c.Networks, Ports: c.Ports}),
	})
	s.sender = delivery.NewSender(s.Delivery)
	synchronise := &background.Loop{Name: "synchronise", Every: time.Minute, Pass: s.eachDomain(s.synchronise), Log: c.Log}
	s.notifications = &notification.Notifications{DB: s.DB, MAC: c.Keys.MAC, Now: c.Now, Sync: synchronise.Wake}
	send := &background.Loop{Name: "send webhooks", Every: time.Second, Pass: s.sender.Pass, Log: c.Log}
	follow := &background.Loop{Name: "follow payments", Every: 5 * time.Second, Pass: s.followPayments, Log: c.Log}
	s.Initiation = &initiation.Initiation{
		Callers: &bankcall.Callers{}, FollowAgain: follow.Wake,
		DB: s.DB, Connectors: &s.registry, Random: rand.Reader, Now: c.Now, MAC: c.Keys.MAC, Notifications: s.notifications, Wake: send.Wake, Tracer: s.traces.Tracer(), Log: c.Log,
	}
	place, err := blob.New(c.Files)
	if err != nil {
		return fmt.Errorf("open the store of files: %w", err)
	}
	kept := blob.Sealed{Store: place, Key: bankstore.From(s.DB).FileKey, SealingKey: func(ctx context.Context, id passerelle.FileID) ([]byte, error) {
		return bankstore.SealingKey(ctx, s.DB, id)
	}}
	if s.provider, err = identities(c); err != nil {
		return err
	}
	fetchers := s.fetchers(Connectors(s.Bank))
	fetchPrograms := &background.Loop{Name: "fetch files of connector programs", Every: time.Minute, Pass: s.fetchFromPrograms, Log: c.Log}
	erase := &background.Loop{Name: "erase", Every: time.Minute, Pass: s.erase, Log: c.Log}
	terminate := &background.Loop{Name: "terminate consents", Every: time.Minute, Pass: s.terminateConsents, Log: c.Log}
	s.syncs = &background.Pool{Size: maxSyncs, Each: maxSyncs / 2, Log: c.Log}
	s.Aggregation = &aggregation.Aggregation{
		DB: s.DB, Connectors: &s.registry, Now: c.Now, Wake: send.Wake, Erase: func() { erase.Wake(); terminate.Wake() }, Sync: synchronise.Wake, Notifications: s.notifications, LeaseTimeout: cmp.Or(c.LeaseTimeout, 10*time.Second), Background: s.syncs.Go, Outlast: s.calls.Outlast, Name: rand.Text(), Log: c.Log,
		Fetch: func(connector string) {
			cmp.Or(fetchers[connector], fetchPrograms).Wake()
		},
	}
	s.fileFetches = &background.Pool{Size: maxFileFetches, Log: c.Log}
	s.Documents = &documents.Documents{DB: s.DB, Files: kept, Connectors: &s.registry, Now: c.Now, Erase: erase.Wake, Background: s.fileFetches.Go, Log: c.Log}
	s.loops = append(background.Group{send, erase, terminate, synchronise, fetchPrograms, follow}, s.standing()...)
	s.loops = slices.AppendSeq(s.loops, maps.Values(fetchers))
	if c.Certificate != nil {
		s.certificate = &background.Loop{Name: "read the certificate", Every: time.Minute, Pass: s.readCertificate, Log: c.Log}
		s.loops = append(s.loops, s.certificate)
	}
	if c.Mail != nil {
		s.loops = append(s.loops, &background.Loop{Name: "send mails", Every: mailEvery, Pass: s.SendMails, Log: c.Log})
	}
	s.Simulation = &simulation.Simulation{DB: s.DB, Initiation: s.Initiation, Aggregation: s.Aggregation, Delivery: s.Delivery, Bank: s.Bank, Now: c.Now}
	s.scenarios, err = scenarios()
	s.api = s.newAPI()
	return err
}

// standing returns the loops that no other part of the service wakes.
func (s *Service) standing() background.Group {
	c := s.config
	return background.Group{
		{Name: "follow connector programs", Every: 5 * time.Second, Pass: s.followPrograms, Log: c.Log},
		{Name: "note the use of credentials", Every: time.Minute, Pass: s.Access.KeepUses, Log: c.Log},
		{Name: "forget attempts to sign in", Every: time.Minute, Pass: s.Operators.Forget, Log: c.Log},
		{Name: "chain the audit log", Every: time.Second, Pass: (&audit.Log{DB: s.DB, Name: rand.Text()}).Chain, Log: c.Log},
		{Name: "measure the domains", Every: time.Minute, Pass: s.measure, Log: c.Log},
		{Name: "check the keys", Every: time.Minute, Pass: s.noteKeys, Log: c.Log},
		{Name: "purge", Every: time.Hour, Pass: s.purge, Log: c.Log},
		{Name: "share the health of banks", Every: disturbanceEvery, Pass: s.ShareBankHealth, Log: c.Log},
		{Name: "add words of earlier payments", Every: time.Minute, Pass: s.eachDomain(s.addEarlierWords), Log: c.Log},
		{Name: "keep statistics", Every: 5 * time.Second, Pass: s.DB.Database.KeepStatistics, Log: c.Log},
	}
}

// identitiesTimeout is the longest time to wait for a response of the identity provider.
const identitiesTimeout = 10 * time.Second

// identities returns the configured identity provider, if any. Like webhook requests, calls to the
// provider may reach only public addresses, the networks in c.Networks and, with c.Loopback, this
// machine. They follow no redirects.
func identities(c Config) (*oidc.Provider, error) {
	if c.Identities == nil {
		return nil, nil //nolint:nilnil // without a provider, operators have passwords
	}
	own := *c.Identities
	own.Now, own.Loopback = c.Now, c.Loopback
	own.Client = delivery.NewClient(delivery.Outbound{Timeout: identitiesTimeout, Loopback: c.Loopback, Networks: c.Networks})
	return oidc.New(own)
}

func (s *Service) listen() error {
	var err error
	s.server, err = httpd.Listen(httpd.Options{
		Addr: s.config.Listen, TLS: s.config.Certificate.TLS(), Log: s.config.Log, Metrics: s.metrics, Tracer: s.traces.Tracer(), Failure: s.panicked,
	})
	if err != nil {
		return cannotListen("--listen", s.config.Listen, err)
	}
	if own := s.config.ConsoleListen; own != "" && own != NoConsole {
		s.consoleServer, err = httpd.Listen(httpd.Options{Addr: own, TLS: s.config.Certificate.TLS(), Log: s.config.Log, Metrics: s.metrics, Tracer: s.traces.Tracer(), Failure: s.panicked})
		if err != nil {
			return cannotListen("--console-listen", own, err)
		}
	}
	if s.config.OpsListen == "" {
		return nil
	}
	s.ops, err = httpd.Listen(httpd.Options{Addr: s.config.OpsListen, Log: s.config.Log})
	if err != nil {
		return cannotListen("--ops-listen", s.config.OpsListen, err)
	}
	s.warnOfProfiles()
	return nil
}

// Check fails when Open would refuse the configuration for its folder of banks, its store of files
// or its identity provider. It does not open the database, and stores nothing.
func Check(c Config) error {
	if c.Banks != "" {
		if _, err := bankPaths(c.Banks); err != nil {
			return err
		}
	}
	if err := blob.Check(c.Files); err != nil {
		return fmt.Errorf("open the store of files: %w", err)
	}
	_, err := identities(c)
	return err
}

// CheckListen fails when Open could not listen on all its addresses. Commands call it before they
// store anything.
func CheckListen(c Config) error {
	for _, one := range []struct{ flag, address string }{{"--listen", c.Listen}, {"--console-listen", c.ConsoleListen}, {"--ops-listen", c.OpsListen}} {
		if one.address == "" || one.address == NoConsole {
			continue
		}
		listener, err := net.Listen("tcp", one.address)
		if err != nil {
			return cannotListen(one.flag, one.address, err)
		}
		defer func() { _ = listener.Close() }() // not earlier, because two flags may have the same address
	}
	return nil
}

// cannotListen describes why the service cannot listen on the address of a flag.
func cannotListen(flag, address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("the address %s is already in use: choose another address with %s", address, flag)
	}
	return fmt.Errorf("listen on %s (%s): %w", address, flag, err)
}

// warnOfProfiles logs a warning when other machines can request profiles. Profiles show the content
// of the memory.
func (s *Service) warnOfProfiles() {
	at, err := netip.ParseAddrPort(s.ops.Addr())
	if s.config.Profiles && (err != nil || !at.Addr().IsLoopback()) {
		s.config.Log.Warn("profiles are served beyond this machine, to whoever reaches the address of --ops-listen", "address", s.ops.Addr())
	}
}

// ConsoleAddr returns the address of the console's separate listener. It returns an empty text
// without such a listener.
func (s *Service) ConsoleAddr() string {
	if s.consoleServer == nil {
		return ""
	}
	return s.consoleServer.Addr()
}

// Addr returns the address at which the program listens, as host:port.
func (s *Service) Addr() string { return s.server.Addr() }

// OpsAddr returns the address of the listener for metrics and profiles. It returns an empty text
// without such a listener.
func (s *Service) OpsAddr() string {
	if s.ops == nil {
		return ""
	}
	return s.ops.Addr()
}

// Start begins to serve requests, and starts the loops.
func (s *Service) Start() {
	s.loops.Start()
	s.Serve()
}

// Serve begins to serve requests without starting the loops. Due work therefore waits.
func (s *Service) Serve() {
	s.server.Start(s.Handler())
	if s.ops != nil {
		s.ops.Start(httpd.Ops(s.metrics, s.config.Profiles, httpd.Health(s.product()), httpd.Ready(s.checks()...)))
	}
	if s.consoleServer != nil {
		s.consoleServer.Start(s.asCalled(s.ownConsole()))
	}
	for _, server := range s.servers() {
		go func() {
			for err := range server.Ended() {
				s.ended <- err
			}
		}()
	}
}

// Ended returns a channel that receives an error when a listener has ended without Stop.
func (s *Service) Ended() <-chan error { return s.ended }

// product returns the name and the version of the program in the form that headers use.
func (s *Service) product() string {
	return "Passerelle/" + cmp.Or(strings.TrimPrefix(s.config.Version, "v"), "development")
}

// Handler returns the handler of the API's listener.
func (s *Service) Handler() http.Handler {
	return s.asCalled(s.places())
}

// API returns the JSON API.
func (s *Service) API() *httpapi.API { return s.api }

func (s *Service) newAPI() *httpapi.API {
	c := s.config
	endpoints := &api.Service{DB: s.DB, Access: s.Access, Initiation: s.Initiation, Delivery: s.Delivery, Aggregation: s.Aggregation, Documents: s.Documents, Simulation: s.Simulation, Programs: s.newPrograms(), Wake: s.Initiation.Wake, Scenarios: s.scenarios, Logins: logins(), Logos: &s.logos, Now: c.Now}
	return httpapi.New(httpapi.Config{
		Domain: s.enter, Authenticate: s.authenticate, MAC: c.Keys.MAC, Sign: endpoints.Signature, RequestID: httpd.RequestID, Unserved: api.Unserved, Matched: httpd.SetRoute, Now: c.Now, Responses: s.DB, TrustedProxies: c.TrustedProxies, Log: c.Log,
	}, endpoints.Routes())
}

// panicked handles a request when a handler outside of the API panics. The API responds to panics
// of its own handlers.
func (s *Service) panicked(w http.ResponseWriter, r *http.Request) {
	s.api.Refuse(w, r, errPanicked)
}

var errPanicked = errors.New("the handler panicked")

// FirstDomain creates a domain, or moves the existing domain with this name to the base URL.
func (s *Service) FirstDomain(ctx context.Context, name string, kind passerelle.DomainKind, baseURL string) (passerelle.Domain, error) {
	return EnsureDomain(ctx, s.DB, passerelle.Domain{Name: name, Kind: kind, BaseURL: baseURL, Created: s.config.Now()})
}
