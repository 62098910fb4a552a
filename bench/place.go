package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/access"
	"passerelle/internal/keys"
	"passerelle/internal/service"
)

// place is the environment in which a row is measured: databases, services and listeners that
// are removed afterwards.
type place struct {
	options

	undo []func() error
}

func (p *place) close() error {
	slices.Reverse(p.undo)
	var errs []error
	for _, undo := range p.undo {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

func (p *place) later(undo func() error) { p.undo = append(p.undo, undo) }

const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// database makes an empty database of a kind and returns its address.
func (p *place) database(ctx context.Context, kind string) (string, error) {
	if kind == sqlite {
		folder, err := os.MkdirTemp(p.folder, "passerelle-bench-")
		if err != nil {
			return "", fmt.Errorf("make a folder: %w", err)
		}
		p.later(func() error { return os.RemoveAll(folder) })
		return "sqlite:" + filepath.Join(folder, "database"), nil
	}
	if p.postgres == "" {
		return "", errors.New("a server is needed: name it with -postgres, or run make bench")
	}
	name := "bench_" + strings.ToLower(rand.Text())
	if err := p.onServer(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	p.later(func() error { return p.onServer(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)") })
	address, err := url.Parse(p.postgres)
	if err != nil {
		return "", errors.New("-postgres is not a URL")
	}
	address.Path = name
	return address.String(), nil
}

func (p *place) onServer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, p.postgres)
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// instance is a service with one sandbox domain, and the tokens for it.
type instance struct {
	*service.Service
	base, token, config, users string
	clientID, clientSecret     string
	domain                     passerelle.Domain
	kind, database             string
}

// both returns the side to measure and the side to compare it with.
func (p *place) both(open func(measured bool) (side, error)) (side, side, error) {
	var (
		ours side
		err  error
	)
	if ours, err = open(true); err != nil {
		return nil, nil, err
	}
	limit, err := open(false)
	return ours, limit, err
}

// freshService returns a service on a new database.
func (p *place) freshService(ctx context.Context, kind string, with ...func(*service.Config)) (*instance, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, err
	}
	w, err := p.service(ctx, database, with...)
	if err != nil {
		return nil, err
	}
	w.kind = kind
	return w, nil
}

// service starts a service on a database.
func (p *place) service(ctx context.Context, database string, with ...func(*service.Config)) (*instance, error) {
	w, err := p.open(ctx, database, with...)
	if err != nil {
		return nil, err
	}
	return w, w.start(ctx)
}

// payingService returns a service on a database. The service makes its payments through promptBank.
func (p *place) payingService(ctx context.Context, kind, database string) (*instance, error) {
	w, err := p.open(ctx, database)
	if err != nil {
		return nil, err
	}
	w.kind = kind
	if w.Initiation.Connectors, err = connector.NewRegistry(promptBank{}); err != nil {
		return nil, err
	}
	return w, w.start(ctx)
}

// open opens a service that does not serve requests yet.
func (p *place) open(ctx context.Context, database string, with ...func(*service.Config)) (*instance, error) {
	folder, err := os.MkdirTemp(p.folder, "passerelle-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	p.later(func() error { return os.RemoveAll(folder) })
	config := service.Config{
		Database: database, Keys: keys.Generate(), Files: folder, Listen: "127.0.0.1:0", Loopback: true, Timing: sandbox.CI, Migrate: true,
		Log: slog.New(slog.DiscardHandler),
	}
	for _, change := range with {
		change(&config)
	}
	running, err := service.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	w := &instance{Service: running, base: "http://" + running.Addr() + "/2.0", database: database}
	p.later(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return running.Stop(ctx)
	})
	return w, w.populate(ctx)
}

func (w *instance) start(ctx context.Context) error {
	w.Start() //nolint:contextcheck // the service outlives the function that opened it, until it is stopped
	return w.enter(ctx)
}

func (w *instance) populate(ctx context.Context) error {
	var err error
	if w.domain, err = w.FirstDomain(ctx, "bench", passerelle.Sandbox, w.base); err != nil {
		return err
	}
	for kind, text := range map[access.TokenKind]*string{access.ConfigToken: &w.config, access.UsersToken: &w.users} {
		issued, err := w.Access.IssueOperator(ctx, w.domain.ID, kind)
		if err != nil {
			return err
		}
		*text = issued.Text
	}
	return nil
}

// enter registers an application and gets a token for it.
func (w *instance) enter(ctx context.Context) error {
	client, secret, err := w.Access.Register(ctx, w.domain.ID, "bench", nil)
	if err != nil {
		return err
	}
	w.clientID, w.clientSecret = number(int64(client.ID)), secret
	body := fmt.Appendf(nil, `{"grant_type":"client_credentials","client_id":"%d","client_secret":%q,"scope":"payments:admin"}`, client.ID, secret)
	answer, err := newCaller("", 1).call(ctx, http.MethodPost, w.base+"/auth/token", body)
	if err != nil {
		return err
	}
	w.token, err = textIn(answer, "token")
	return err
}

// serve serves a handler on a loopback address and returns the address.
func (p *place) serve(ctx context.Context, handler http.Handler) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	p.later(server.Close)
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
