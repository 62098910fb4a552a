package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
)

// counting counts a repeated transaction once, like the service.
type counting struct {
	connector.Sink
	keys         []string
	transactions map[string]map[string]bool
}

func (c *counting) Accounts(all []passerelle.AccountDetails) error {
	for _, one := range all {
		c.keys = append(c.keys, one.Key)
	}
	return nil
}

func (c *counting) Wanted(string) (passerelle.Date, bool) { return passerelle.Date{}, true }

func (c *counting) Transactions(account string, page []passerelle.TransactionDetails) error {
	if c.transactions == nil {
		c.transactions = map[string]map[string]bool{}
	}
	if c.transactions[account] == nil {
		c.transactions[account] = map[string]bool{}
	}
	for _, one := range page {
		c.transactions[account][one.Key] = true
	}
	return nil
}

func (c *counting) most() int {
	n := 0
	for _, keys := range c.transactions {
		n = max(n, len(keys))
	}
	return n
}

func (c *counting) AccountRead(string, passerelle.Date) error { return nil }

// BenchmarkFirstRead reads ten thousand transactions through the connector, and the same pages with
// a plain client.
func BenchmarkFirstRead(b *testing.B) {
	const many = 10_000
	banks := newBanks(b, "redirect")
	account := banks.books("redirect")[0].ID
	banks.steer("POST", "redirect/accounts/"+account+"/fill", map[string]any{"count": many, "amount": "-0.01", "text": "Coffee", "number": true}, nil)
	bank, err := berlingroup.Load(filepath.Join(banks.Folder, "redirect.toml"))
	if err != nil {
		b.Fatal(err)
	}
	defer bank.Close()
	reader, _ := bank.Connector().(connector.DataReader)
	request := connector.DataRequest{Present: true, Device: connector.Device{Address: netip.MustParseAddr("192.0.2.7")}, ReturnURL: "https://hub.example/back?state=s", Now: time.Now()}
	request.Memory = approved(b, reader, request)
	client := bareClient(b, banks.Folder)
	api := ""
	for _, s := range bank.Settings() {
		if s.Name == "address.api" {
			api, _ = s.Value.(string)
		}
	}
	header := http.Header{"Consent-Id": {consentOf(b, banks)}, "Psu-Ip-Address": {"192.0.2.7"}, "X-Request-Id": {"99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}}
	first := api + "/v1/accounts/" + account + "/transactions?bookingStatus=both&dateFrom=" + time.Now().AddDate(0, 0, -700).Format(time.DateOnly)
	var ours, bare time.Duration
	for b.Loop() {
		at := time.Now()
		listed := fetchPages(b, client, first, header)
		bare += time.Since(at)
		at = time.Now()
		into := &counting{}
		_, err := reader.Read(b.Context(), request, into)
		ours += time.Since(at)
		if err != nil || listed < many || into.most() != listed {
			b.Fatalf("%d transactions of %d, %v", into.most(), listed, err)
		}
	}
	ratio := float64(bare) / float64(ours)
	b.ReportMetric(ratio, "ratio")
	if ratio < 0.5 {
		b.Errorf("the connector has %.2f of the speed of a plain client, want 0.5", ratio)
	}
	b.ReportMetric(float64(many*b.N)/ours.Seconds(), "transactions/s")
}

func approved(tb testing.TB, reader connector.DataReader, request connector.DataRequest) []byte {
	tb.Helper()
	asked, err := reader.Read(tb.Context(), request, &counting{})
	if err != nil {
		tb.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := (&http.Client{CheckRedirect: stay}).PostForm(asked.URL, url.Values{"decision": {"approve"}, "customer": {"anna"}})
	if err != nil {
		tb.Fatal(err)
	}
	answer.Body.Close()
	request.Memory, request.Callback = asked.Memory, url.Values{}
	read, err := reader.Read(tb.Context(), request, &counting{})
	if err != nil || read.State != "" {
		tb.Fatalf("%q, %v", read.State, err)
	}
	return read.Memory
}

func consentOf(tb testing.TB, banks *banksOf) string {
	tb.Helper()
	var out struct{ Consents []struct{ ID string } }
	banks.steer("GET", "redirect/consents", nil, &out)
	if len(out.Consents) != 1 {
		tb.Fatalf("%d consents", len(out.Consents))
	}
	return out.Consents[0].ID
}

func bareClient(tb testing.TB, folder string) *http.Client {
	tb.Helper()
	certificates := filepath.Join(filepath.Dir(folder), "certs")
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "qwac.pem"), filepath.Join(certificates, "qwac.key"))
	if err != nil {
		tb.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join(certificates, "authority.pem"))
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// fetchPages follows the links to further pages, and returns the number of transactions.
func fetchPages(tb testing.TB, client *http.Client, first string, header http.Header) int {
	tb.Helper()
	listed := 0
	for next := first; next != ""; {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, next, nil)
		if err != nil {
			tb.Fatal(err)
		}
		request.Header = header
		answer, err := client.Do(request)
		if err != nil {
			tb.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			tb.Fatalf("%d, %v, %s", answer.StatusCode, err, body)
		}
		listed += bytes.Count(body, []byte(`"transactionAmount"`))
		_, rest, _ := bytes.Cut(body, []byte(`"next":{"href":"`))
		address, _, _ := bytes.Cut(rest, []byte(`"`))
		next = string(address)
	}
	return listed
}
