package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle/connector/berlingroup"
	"passerelle/internal/servicetest"
)

// hostile lists faults of a bank, its file or its certificates. A fault changes the file or affects
// every call.
var hostile = map[string]struct {
	line, with string
	fault      map[string]any
	// says is a text that the log must contain. paid is the resulting state of a payment. read is
	// the resulting state of a connection. later is the state of the payment after the bank has
	// recovered and the payer has approved.
	says, paid, read, later string
}{
	"a wrong file": {
		line: `start = .*`, with: `start = "sideways"`, says: `"field":"profile.start"`, paid: "validating", later: "done",
	},
	"a bank that is gone": {
		line: `api = .*`, with: `api = "https://127.0.0.1:1/redirect"`,
		says: "it cannot be reached at address.api", paid: "rejected websiteUnavailable", read: "websiteUnavailable",
	},
	"an expired certificate": {
		line: `/qwac\.`, with: `/expired-qwac.`,
		says: "replace it with the new certificate", paid: "rejected bug", read: "bug",
	},
	"a certificate that the bank does not trust": {
		line: `/qwac\.`, with: `/foreign-qwac.`,
		says: "CERTIFICATE_INVALID: check tls.certificate", paid: "rejected bug", read: "bug",
	},
	"a bank of another authority": {
		line: `authorities = .*`, with: `authorities = "../certs/foreign-qwac.pem"`,
		says: "from an authority that tls.authorities does not contain", paid: "rejected websiteUnavailable", read: "websiteUnavailable",
	},
	"answers of a gigabyte": {
		fault: map[string]any{"wire": "huge"}, says: "its response is larger than the limit", paid: "validating", read: "websiteUnavailable", later: "done",
	},
	"answers of great depth": {
		fault: map[string]any{"wire": "deep"}, says: "its response is not valid JSON of the standard", paid: "validating", read: "websiteUnavailable", later: "done",
	},
	"redirects to another address": {
		fault: map[string]any{"wire": "elsewhere"}, says: "it redirects to another address", paid: "created", read: "websiteUnavailable", later: "created",
	},
}

// TestHostileBanks: during a fault, the log names it and another bank takes payments. Afterwards,
// the bank takes payments again.
func TestHostileBanks(t *testing.T) {
	banks := newBanks(t, "redirect,signed")
	path := filepath.Join(banks.Folder, "redirect.toml")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		c := newCustomer(t, i, banks)
		i.OK(i.Call("PUT", "/clients/"+i.ClientID, i.ConfigToken, map[string]any{"redirect_uris": []string{landing, "https://shop.example/back", "https://shop.example/pay"}}))
		c.connect(banks.uuid("redirect"))
		for name, test := range hostile {
			t.Run(name, func(t *testing.T) {
				s, known, logged := newShopper(t, i, banks, "redirect"), len(c.transactions()), len(i.Logs.String())
				if test.line != "" {
					put(t, regexp.MustCompile(test.line).ReplaceAll(whole, []byte(test.with)))
					i.ReloadBanks(t.Context())
				} else {
					banks.steer("POST", "redirect/faults", test.fault, nil)
				}
				p := s.pay(order(line("Shop", nil)))
				c.sync("true")
				read, said := "", i.Logs.String()[logged:]
				if state := c.connection().State; state != nil {
					read = *state
				}
				if !strings.HasPrefix(inWords(p), test.paid) || read != test.read {
					t.Errorf("the payment is %s, the connection %s", inWords(p), read)
				}
				if !strings.Contains(said, test.says) || test.fault != nil && !strings.Contains(said, "Example Bank (Berlin Group, redirect) (") {
					t.Errorf("the log says %s", said)
				}
				if other := newShopper(t, i, banks, "signed"); other.pay(order(line("Shop", nil))).State != "validating" {
					t.Error("another bank takes no payments meanwhile")
				}

				put(t, whole)
				i.ReloadBanks(t.Context())
				banks.steer("DELETE", "redirect/faults", nil, nil)
				c.sync("true")
				if state := c.connection().State; state != nil || len(c.transactions()) < known {
					t.Errorf("afterwards the connection is %v, and there are %d transactions of %d", *state, len(c.transactions()), known)
				}
				s.due("1m")
				if test.later != "" {
					if p = s.settle(s.act(s.payment(p.ID), "approve")); p.State != test.later || s.sent(p) > 1 {
						t.Errorf("afterwards the payment is %s, of which the bank has %d", inWords(p), s.sent(p))
					}
				}
				if p := s.pay(order(line("Shop", nil))); p.State != "validating" {
					t.Errorf("afterwards another payment is %s", inWords(p))
				}
			})
		}
	})
}

// TestClocksThatAreApart: when the bank's clock differs much from this machine's clock, the log and
// `passerelle bank check` say so.
func TestClocksThatAreApart(t *testing.T) {
	banks := newBanks(t, "signed")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, i *servicetest.Instance) {
		c := newCustomer(t, i, banks)
		i.OK(i.Call("PUT", "/clients/"+i.ClientID, i.ConfigToken, map[string]any{"redirect_uris": []string{landing, "https://shop.example/back", "https://shop.example/pay"}}))
		c.connect(banks.uuid("signed"))
		known := len(c.transactions())
		for wrong, says := range map[string][]string{
			"10m":  {"TIMESTAMP_INVALID: check that this machine's clock is right; this machine's clock is ", " behind the bank's"},
			"-10m": {"TIMESTAMP_INVALID: check that this machine's clock is right; this machine's clock is ", " ahead of the bank's"},
			"999d": {"CERTIFICATE_EXPIRED: check tls.certificate", " behind the bank's"},
		} {
			banks.steer("POST", "signed/clock", map[string]any{"machine": wrong}, nil)
			s, logged := newShopper(t, i, banks, "signed"), len(i.Logs.String())
			if p := s.pay(order(line("Shop", nil))); !strings.HasPrefix(inWords(p), "rejected bug") {
				t.Errorf("%s: the payment is %s", wrong, inWords(p))
			}
			c.sync("true")
			if state := c.connection().State; state == nil || *state != "bug" {
				t.Errorf("%s: the connection is %v", wrong, state)
			}
			said := i.Logs.String()[logged:]
			for _, part := range append(says, "Example Bank (Berlin Group, signed) (initiate)", "Example Bank (Berlin Group, signed) (accounts)") {
				if !strings.Contains(said, part) {
					t.Errorf("%s: the log does not have %q: %s", wrong, part, said)
				}
			}
			bank, err := berlingroup.Load(filepath.Join(banks.Folder, "signed.toml"))
			if err != nil {
				t.Fatal(err)
			}
			findings := bank.Check(t.Context())
			bank.Close()
			if !slices.ContainsFunc(findings, func(f berlingroup.Finding) bool { return f.Check == "clock" && f.Wrong }) {
				t.Errorf("%s: bank check finds %+v", wrong, findings)
			}

			banks.steer("POST", "signed/clock", map[string]any{"machine": "0s"}, nil)
			if c.sync("true"); c.connection().State != nil || len(c.transactions()) < known {
				t.Errorf("%s: afterwards the connection is %v, and there are %d transactions of %d", wrong, c.connection().State, len(c.transactions()), known)
			}
			if p := s.settle(s.act(s.pay(order(line("Shop", nil))), "approve")); p.State != "done" {
				t.Errorf("%s: afterwards a payment is %s", wrong, inWords(p))
			}
			known = len(c.transactions())
		}
	})
}
