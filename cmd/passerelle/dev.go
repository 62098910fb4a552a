package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/access"
	"passerelle/internal/keys"
	"passerelle/internal/service"
	"passerelle/internal/settings"
)

// devDomain is the name of the domain that dev makes.
const devDomain = "sandbox"

type devCommand struct {
	Listen   string `default:"127.0.0.1:8080" help:"Address to listen on; port 0 picks a free one."`
	Data     string `default:"passerelle-data" help:"Folder of the database, the key file and the credentials." type:"path"`
	Database string `help:"Database to use instead of the one in the data folder: sqlite:PATH or postgres://…"`
	Profile  string `default:"ci" help:"Timing of the sandbox banks: ci (no wait) or faithful."`
}

// credentials are what dev prints. They are kept in the data folder, readable
// by their owner alone, so that a restart leaves a newcomer's programs working.
type credentials struct {
	BaseURL      string `json:"base_url"`
	WebviewURL   string `json:"webview_url"`
	Domain       string `json:"domain"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ConfigToken  string `json:"config_token"`
	UsersToken   string `json:"users_token"`
	PID          int    `json:"pid"`
}

// Run serves until the context ends.
func (d *devCommand) Run(c *console) error {
	timing, err := sandbox.ParseTiming(d.Profile)
	if err != nil {
		return passerelle.InvalidField("--profile", "must be ci or faithful")
	}
	ring, err := d.openFolder()
	if err != nil {
		return err
	}
	s, err := service.Open(c.ctx, service.Config{
		Database: d.database(), Keys: ring, Listen: d.Listen, Loopback: true, Timing: timing, Migrate: true, Log: c.log,
	})
	if err != nil {
		return err
	}
	printed, err := d.prepare(c.ctx, s)
	if err != nil {
		return errors.Join(err, stop(s, time.Second))
	}
	return serveUntilDone(c, s, shutdownTimeout, func() error { return printed.print(c) })
}

func (d *devCommand) openFolder() (*keys.Ring, error) {
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	ring, err := keys.LoadOrCreate(filepath.Join(d.Data, "keys"))
	if err != nil {
		return nil, fmt.Errorf("open the key file of the data folder: %w", err)
	}
	return ring, nil
}

func (d *devCommand) database() string {
	if d.Database != "" {
		return d.Database
	}
	return "sqlite:" + filepath.Join(d.Data, "passerelle.db")
}

// prepare makes the domain and the credentials, or finds those of an earlier
// run that still work.
func (d *devCommand) prepare(ctx context.Context, s *service.Service) (credentials, error) {
	origin := "http://" + s.Addr()
	domain, err := s.FirstDomain(ctx, devDomain, passerelle.Sandbox, origin+"/2.0")
	if err != nil {
		return credentials{}, err
	}
	kept := d.readCredentials()
	if !kept.work(ctx, s, domain) {
		if kept, err = newCredentials(ctx, s, domain); err != nil {
			return credentials{}, err
		}
	}
	kept.BaseURL, kept.WebviewURL, kept.Domain, kept.PID = domain.BaseURL, origin+"/webview", domain.Name, os.Getpid()
	return kept, d.keepCredentials(kept)
}

func (d *devCommand) credentialsFile() string { return filepath.Join(d.Data, "credentials.json") }

// readCredentials returns none when there is no file, or none that can be read.
func (d *devCommand) readCredentials() credentials {
	var kept credentials
	raw, err := os.ReadFile(d.credentialsFile())
	if err != nil || json.Unmarshal(raw, &kept) != nil {
		return credentials{}
	}
	return kept
}

func (d *devCommand) keepCredentials(kept credentials) error {
	raw, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.credentialsFile(), raw, 0o600); err != nil {
		return fmt.Errorf("keep the credentials in the data folder: %w", err)
	}
	return nil
}

// work reports whether the credentials are those of this database.
func (k credentials) work(ctx context.Context, s *service.Service, d passerelle.Domain) bool {
	for _, token := range []string{k.ConfigToken, k.UsersToken} {
		if _, err := s.Access.Authenticate(ctx, d.ID, token); err != nil {
			return false
		}
	}
	_, err := s.Access.Application(ctx, d.ID, access.Credentials{ClientID: k.ClientID, Secret: k.ClientSecret})
	return err == nil
}

func newCredentials(ctx context.Context, s *service.Service, d passerelle.Domain) (credentials, error) {
	client, secret, err := s.Access.Register(ctx, d.ID, "first application", nil)
	if err != nil {
		return credentials{}, err
	}
	config, err := s.Access.IssueOperator(ctx, d.ID, access.ConfigToken)
	if err != nil {
		return credentials{}, err
	}
	users, err := s.Access.IssueOperator(ctx, d.ID, access.UsersToken)
	if err != nil {
		return credentials{}, err
	}
	err = settings.Set(ctx, s.DB, d.ID, map[string]string{settings.PeriodicEnabled: "1"}, time.Now())
	return credentials{
		ClientID: strconv.FormatInt(int64(client.ID), 10), ClientSecret: secret, ConfigToken: config.Text, UsersToken: users.Text,
	}, err
}

func (k credentials) print(c *console) error {
	if c.json {
		return c.show(k)
	}
	_, err := fmt.Fprint(c.out, strings.NewReplacer(
		"{base}", k.BaseURL, "{id}", k.ClientID, "{secret}", k.ClientSecret, "{config}", k.ConfigToken, "{users}", k.UsersToken,
		"{webview}", k.WebviewURL, "{shop}", strings.TrimSuffix(k.BaseURL, "/2.0")+"/sandbox/shop",
	).Replace(welcome))
	return err
}

const welcome = `
Passerelle is ready. Nothing here moves real money.

  base URL       {base}
  API document   {base}/openapi.json
  webview        {webview}
  client id      {id}
  client secret  {secret}
  config token   {config}
  users token    {users}

A first payment:

  TOKEN=$(curl -s {base}/auth/token -d grant_type=client_credentials -d client_id={id} \
    -d client_secret={secret} -d scope=payments:admin | sed 's/.*"token":"\([^"]*\)".*/\1/')

  curl -s {base}/payments -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{
    "client_redirect_uri": "{shop}/back",
    "instructions": [{
      "amount": 12.50, "currency": "EUR", "label": "Invoice 42", "execution_date_type": "instant",
      "beneficiary": {"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Shop"}
    }]
  }'

The README goes on from here. Stop with Ctrl-C; the data is kept.

`
