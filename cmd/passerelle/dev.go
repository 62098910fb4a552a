package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/keys"
	"passerelle/internal/secretfile"
	"passerelle/internal/service"
	"passerelle/internal/store"
	"passerelle/internal/tracing/otlp"
)

// devDomain is the name of the domain that dev makes.
const devDomain = "sandbox"

type devCommand struct {
	Listen   string `default:"127.0.0.1:8080" help:"Address to listen on; port 0 picks a free one."`
	Data     string `default:"passerelle-data" help:"Folder for the database, the key file and the credentials." type:"path"`
	Database string `help:"Database to use instead of the one in the data folder: sqlite:PATH or postgres://…"`
	Files    string `help:"Store for files instead of the data folder: a folder, or s3://KEY:SECRET@HOST/BUCKET."`
	secretfile.Flags
	Profile string `default:"ci" help:"Timing of the sandbox banks: ci (no wait) or faithful."`
	bankFolder
	Bank bool `help:"Start test banks as a second program, in the data folder, and connect them over mutual TLS. Instead of --banks."`
	outbound
	bounds
	identities
	Traces   otlp.ReceiverFlags `embed:""`
	SMTPURL  string             `name:"smtp-url" help:"Mail server for mails about failing webhooks, as for serve. Without one, the log shows the mails."`
	MailFrom string             `help:"Sender address of mails; required with --smtp-url."`
}

// Run serves until the context ends or the listener fails.
func (d *devCommand) Run(c *console) error {
	if err := d.resolve(); err != nil {
		return err
	}
	timing, err := sandbox.ParseTiming(d.Profile)
	if err != nil {
		return passerelle.InvalidField("--profile", "must be ci or faithful")
	}
	open, err := d.networks()
	if err != nil {
		return err
	}
	provider, err := d.identities.config()
	if err != nil {
		return err
	}
	traces, err := d.Traces.Config()
	if err != nil {
		return err
	}
	mails, err := mailer(d.SMTPURL, d.MailFrom)
	if err != nil {
		return err
	}
	if mails == nil {
		mails = service.ShownMails{Log: c.log}
	}
	ring, err := d.openFolder(c)
	if err != nil {
		return err
	}
	banks, end, err := d.connectBanks(c)
	if err != nil {
		return err
	}
	defer end()
	s, err := service.Open(c.ctx, service.Config{
		Database: d.database(), Keys: ring, Files: cmp.Or(d.Files, filepath.Join(d.Data, "files")), Listen: d.Listen,
		Banks: d.Banks, Loopback: true, Networks: open, Ports: d.AllowPorts, Timing: timing, Identities: provider, Traces: traces, Mail: mails, Migrate: true, Version: version, Log: c.log, MaxRequests: d.MaxRequests, DatabaseTimeout: d.DatabaseTimeout,
	})
	if err != nil {
		return d.nameFolder(err)
	}
	printed, err := d.prepare(c.ctx, s, c.log)
	if err != nil {
		return errors.Join(err, stop(s, time.Second))
	}
	printed.Testbanks = banks
	// Without banks, SIGHUP ends the program, because a closed terminal sends it.
	return serveUntilDone(c, s, d.Banks != "", devEnding, func() error { return printed.print(c) })
}

// nameFolder names the data folder and its flag in the error that another server uses its database.
func (d *devCommand) nameFolder(err error) error {
	if errors.Is(err, store.ErrInUse) && d.Database == "" {
		return fmt.Errorf("another server uses the data folder %s: stop that server, or name another folder with --data", d.Data)
	}
	return err
}

// resolve reads the values of flags from files, and checks the address.
func (d *devCommand) resolve() error {
	if err := d.Flags.Resolve(&d.Database, &d.Files, &d.SMTPURL); err != nil {
		return err
	}
	return checkAddress("--listen", d.Listen, listenExample)
}

func (d *devCommand) openFolder(c *console) (*keys.Ring, error) {
	if err := service.CheckListen(service.Config{Listen: d.Listen}); err != nil {
		return nil, err // before anything is stored
	}
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	file := filepath.Join(d.Data, "keys")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := d.refuseNewKeys(c, file); err != nil {
			return nil, err
		}
	}
	ring, err := keys.LoadOrCreate(file)
	if err != nil {
		return nil, fmt.Errorf("open the key file of the data folder: %w", err)
	}
	return ring, nil
}

// refuseNewKeys fails when the database has domains, because their secrets were encrypted with keys
// that dev does not have.
func (d *devCommand) refuseNewKeys(c *console, file string) error {
	db, err := store.Open(c.ctx, d.database(), store.Options{Log: c.log})
	if err != nil {
		return err
	}
	err = db.Database.Migrate(c.ctx) // dev would do this next in any case
	if err == nil {
		var all []passerelle.Domain
		if all, err = db.Domains(c.ctx); len(all) > 0 {
			err = fmt.Errorf("the database is in use, but its key file %s is missing: restore it, or start with another data folder and database", file)
		}
	}
	return errors.Join(err, db.Close())
}

func (d *devCommand) database() string {
	if d.Database != "" {
		return d.Database
	}
	return ownDatabase(d.Data)
}

// ownDatabase returns the address of the database in dev's data folder.
func ownDatabase(folder string) string { return "sqlite:" + filepath.Join(folder, "passerelle.db") }

// reachable returns an address at which this machine reaches a listener.
func reachable(listener string) string {
	at, err := netip.ParseAddrPort(listener)
	if err != nil || !at.Addr().IsUnspecified() {
		return listener
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

// prepare creates the domain and the credentials. If they exist and still work, it keeps them.
func (d *devCommand) prepare(ctx context.Context, s *service.Service, log *slog.Logger) (credentials, error) {
	origin := "http://" + reachable(s.Addr())
	domain, err := s.FirstDomain(ctx, devDomain, passerelle.Sandbox, origin+"/2.0")
	if err != nil {
		return credentials{}, err
	}
	file := credentialsFile(d.Data, d.database())
	kept := readCredentials(file)
	if err := kept.renew(ctx, s, domain, log); err != nil {
		return credentials{}, err
	}
	if err := kept.operator(ctx, s); err != nil {
		return credentials{}, err
	}
	kept.BaseURL, kept.WebviewURL, kept.Domain, kept.PID = domain.BaseURL, origin+"/webview", domain.Name, os.Getpid()
	return kept, kept.write(file)
}

const welcome = `
Passerelle is ready. Nothing here moves real money.

  base URL       {base}
  API document   {base}/openapi.json
  webview        {webview}
  console        {console}
  … user         {user}
  … password     {password}
  client id      {id}
  client secret  {secret}
  config token   {config}
  users token    {users}

The README continues from here. Its next commands, also at {docs}, need these variables in a second terminal:

  BASE={base}
  CLIENT_ID={id}
  CLIENT_SECRET={given}
  CONFIG={config}

Stop with Ctrl-C; the data is kept.

`
