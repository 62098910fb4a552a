package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/service"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// credentials holds the credentials that dev prints. They are stored in the data folder, so that
// programs that use them still work after a restart. Only the owner of the file can read them.
type credentials struct {
	BaseURL      string `json:"base_url"`
	WebviewURL   string `json:"webview_url"`
	Domain       string `json:"domain"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ConfigToken  string `json:"config_token"`
	UsersToken   string `json:"users_token"`
	consoleCredentials
	PID int `json:"pid"`
	// Testbanks describes the test banks that dev started. It is nil without test banks, and is not
	// stored.
	Testbanks *banksView `json:"testbanks,omitempty"`
}

// consoleCredentials holds the address, name and password with which the first operator signs in.
type consoleCredentials struct {
	ConsoleURL      string `json:"console_url"`
	ConsoleUser     string `json:"console_user"`
	ConsolePassword string `json:"console_password"`
	// ConsoleSeen is a digest of the stored password hash with which ConsolePassword was last
	// compared. While the hash is the same, the password of an active operator is not checked
	// again, because a check takes a large part of the start time.
	ConsoleSeen string `json:"console_seen,omitempty"`
}

// credentialsFile returns the path of the credentials for a database. Each database has its own
// file, so that switching between databases loses no credentials.
func credentialsFile(folder, database string) string {
	name := nameOf(database)
	if name == nameOf(ownDatabase(folder)) {
		return filepath.Join(folder, "credentials.json")
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(folder, fmt.Sprintf("credentials-%x.json", sum[:8]))
}

// nameOf returns a name for a database. It does not depend on the current folder or the password.
func nameOf(database string) string {
	if path, file := strings.CutPrefix(database, "sqlite:"); file {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return path // the store opens the same path
		}
		return absolute
	}
	u, err := url.Parse(database)
	if err != nil {
		return database // the store has already refused this address
	}
	query := u.Query()
	query.Del("password")
	u.User, u.RawQuery = url.User(u.User.Username()), query.Encode()
	return u.String()
}

// readCredentials reads stored credentials. Without a readable file, it returns empty credentials.
func readCredentials(file string) credentials {
	var kept credentials
	raw, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(raw, &kept) != nil {
		return credentials{}
	}
	return kept
}

// write replaces the file atomically: after a crash or a power failure, either the old or the new
// file exists.
func (k credentials) write(file string) error {
	raw, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".credentials-*") // mode 0600
	if err != nil {
		return fmt.Errorf("keep the credentials in the data folder: %w", err)
	}
	_, err = temporary.Write(raw)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("keep the credentials in the data folder: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// renew ensures that there is a first application and that both tokens work. It logs replacements.
func (k *credentials) renew(ctx context.Context, s *service.Service, d passerelle.Domain, log *slog.Logger) error {
	first := k.ClientID == ""
	if err := k.application(ctx, s, d, log); err != nil {
		return err
	}
	for _, of := range []struct {
		kind access.TokenKind
		text *string
	}{{access.ConfigToken, &k.ConfigToken}, {access.UsersToken, &k.UsersToken}} {
		if _, err := s.Access.Authenticate(ctx, d.ID, *of.text); err == nil {
			continue
		}
		grant, err := s.Access.IssueOperator(ctx, d.ID, of.kind)
		if err != nil {
			return err
		}
		*of.text = grant.Text
		if !first {
			log.Warn("the token of the last start is no longer valid; there is a new one", "kind", of.kind)
		}
	}
	return nil
}

// application makes sure that there is a first application. It keeps the application of the last
// start if it still exists, and otherwise registers a new application. If an operator has reset the
// secret, dev does not know the new secret and does not change it.
func (k *credentials) application(ctx context.Context, s *service.Service, d passerelle.Domain, log *slog.Logger) error {
	id, _ := strconv.ParseInt(k.ClientID, 10, 64) // 0 without a stored id; no application has id 0
	_, err := s.DB.Client(ctx, d.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		if k.ClientID != "" {
			log.Warn("the application of the last start no longer exists; there is a new one", "client_id", k.ClientID)
		}
		return k.register(ctx, s, d)
	}
	if err != nil || k.ClientSecret == "" {
		return err
	}
	if _, err := s.Access.Application(ctx, d.ID, access.Credentials{ClientID: k.ClientID, Secret: k.ClientSecret}); err != nil {
		log.Warn("the secret of the application was reset; the new one is not known here", "client_id", k.ClientID)
		k.ClientSecret = ""
	}
	return nil
}

func (k *credentials) register(ctx context.Context, s *service.Service, d passerelle.Domain) error {
	client, secret, err := s.Access.Register(ctx, d.ID, "first application", nil)
	if err != nil {
		return err
	}
	k.ClientID, k.ClientSecret = strconv.FormatInt(int64(client.ID), 10), secret
	return settings.Set(ctx, s.DB, d.ID, map[string]string{settings.PeriodicEnabled: "1", settings.SignedAnswers: "1", settings.QueryToken: "1"}, time.Now())
}

// firstOperator is the name of the operator that dev makes.
const firstOperator = "admin"

// operator makes sure that there is a first operator. If the operator exists but dev has no stored
// credentials, dev resets the password. If the operator has changed the password, dev does not know
// the new password and does not change it.
func (k *consoleCredentials) operator(ctx context.Context, s *service.Service) error {
	made := k.ConsoleUser != ""
	k.ConsoleURL, k.ConsoleUser = "http://"+reachable(s.Addr())+"/console/", firstOperator
	o, err := operatorstore.From(s.DB).OperatorByName(ctx, firstOperator)
	switch {
	case errors.Is(err, store.ErrNotFound):
		_, k.ConsolePassword, err = s.Operators.Create(ctx, firstOperator, operators.Administrator)
	case err == nil && !made:
		_, k.ConsolePassword, err = s.Operators.ResetPassword(ctx, firstOperator)
	case err == nil:
		err = k.forgetChanged(ctx, s, o)
	}
	return err
}

func (k *consoleCredentials) forgetChanged(ctx context.Context, s *service.Service, o operatorstore.Operator) error {
	sum := sha256.Sum256([]byte(o.Password))
	stored := hex.EncodeToString(sum[:])
	if k.ConsoleSeen == stored && o.Disabled == nil {
		return nil
	}
	right, err := s.Operators.Check(ctx, firstOperator, k.ConsolePassword)
	k.ConsoleSeen = stored
	if !right {
		k.ConsolePassword, k.ConsoleSeen = "", ""
	}
	return err
}

func (k credentials) print(c *console) error {
	if c.json {
		k.ConsoleSeen = ""
		return c.show(k)
	}
	_, err := fmt.Fprint(c.out, strings.NewReplacer(
		"{base}", k.BaseURL, "{id}", k.ClientID, "{secret}", cmp.Or(k.ClientSecret, "the one that it was reset to"), "{given}", cmp.Or(k.ClientSecret, "…"), "{config}", k.ConfigToken, "{users}", k.UsersToken,
		"{webview}", k.WebviewURL, "{console}", k.ConsoleURL, "{user}", k.ConsoleUser, "{password}", cmp.Or(k.ConsolePassword, "the one it was changed to"), "{docs}", strings.TrimSuffix(k.BaseURL, "/2.0")+"/docs/guides/quick-start",
	).Replace(welcome))
	if err == nil && k.Testbanks != nil {
		_, err = fmt.Fprint(c.out, strings.NewReplacer(
			"{folder}", k.Testbanks.Folder, "{pages}", k.Testbanks.Pages, "{control}", k.Testbanks.Control, "{title}", k.Testbanks.Banks[0].Title,
		).Replace(welcomeBanks))
	}
	return err
}
