package api_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var hostileLists = []struct{ path, token string }{
	{"/payments", "admin"},
	{"/payments?order_by=state", "admin"},
	{"/payments?order_by=connectors", "admin"},
	{"/payments?order_by=validate_date", "admin"},
	{"/payments?label=I", "admin"},
	{"/payments?connector_uuid=338178e6-3d01-564f-9a7b-52ca442459bf", "admin"},
	{"/payments?country=FR,GB,DE", "admin"},
	{"/users", "users"},
	{"/users/{user}/transactions", "user"},
	{"/users/{user}/accounts", "user"},
	{"/users/{user}/account_ownerships", "user"},
	{"/users/{user}/connections", "user"},
	{"/users/{user}/connections/{holder}/logs", "user"},
	{"/users/{user}/subscriptions", "user"},
	{"/users/{user}/documents", "user"},
	{"/users/{user}/transactions/{transaction}/documents", "user"},
	{"/users/{user}/investments", "user"},
	{"/users/{user}/market_orders", "user"},
	{"/users/{user}/pockets", "user"},
	{"/users/{user}/amortizations", "user"},
	{"/users/{user}/transactionsclusters", "user"},
	{"/users/{user}/consents", "user"},
	{"/investments/{position}/history", "user"},
	{"/connectors", "read-only"},
	{"/config/logs", "config"},
	{"/webhooks", "config"},
	{"/webhooks/auth", "config"},
	{"/webhooks/{webhook}/data", "config"},
	{"/webhooks/{webhook}/logs", "config"},
	{"/sandbox/mails", "config"},
}

var hostileNumbers = []string{
	"0", "1", "-1", "-0", "+1", "1000", "1001", "2147483647", "2147483648", "9223372036854774806", "9223372036854774807", "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"18446744073709551616", "1e3", "1.0", "", " 1", "1 ", "0x10", "１", "NaN", "null", "true", "1,2", "00", "1_000", "%00", "%ff",
}

var hostileTexts = []string{
	"", "%00", "%ff", "%25", "_", "!", "'", `"`, `\`, "a'%20OR%20'1'='1", "%F0%9F%98%80", "%CC%81", strings.Repeat("a", 5000), strings.Repeat("%25", 3000), "1e3", "1e308", "1e-400", "-1e18", "99999999999999999999999999", "999999999999999999", "0.00000000000000000001",
	"NaN", "Infinity", "null", "0", "-1", "9223372036854775807", "true", "±", "±1", "±-1", "1|", "|", "1|2|3", ",", "a,b", ".", "-",
}

var hostileDates = []string{
	"0001-01-01", "0001", "0001-01", "0000-01-01", "9999", "9999-12", "9999-12-31", "10000-01-01", "-0001-01-01", "2026-02-29", "2026-13", "2026-11-20T10:00:00Z", "2026-11-20 10:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59",
	"9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-11-20T25:00:00Z", "2026-11-20T23:59:60Z", "1e3", "1700000000", "", "%00", "today", "292278-01-01", "1969-12-31",
}

// someValues lists usual and extreme numbers and dates, a text, a currency and an invalid value.
var someValues = []string{"1", "-1", "9223372036854775807", "a", "EUR", "2026-11-20", "0001-01-01", "9999-12-31", "%ff"}

// TestHostileParametersOfLists sends invalid and extreme parameters to lists. No response may be a
// server error. A path that already has a parameter gets each filter with few values, because the
// service reads the values of other filters in the same way as without the parameter.
func TestHostileParametersOfLists(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.holdings(t, "")
		for range 3 {
			s.created(t, "")
		}
		for _, list := range hostileLists {
			a := s.fill(t, ask{method: "GET", path: list.path, token: list.token})
			for _, query := range hostileQueries(s.contract.filtersOf(t, list.path), strings.Contains(list.path, "?")) {
				b := a
				glue := map[bool]string{true: "&", false: "?"}[strings.Contains(a.path, "?")]
				b.path += glue + query
				s.do(t, b)
			}
		}
	})
}

// filtersOf returns the query parameters of a list in the OpenAPI document, except those of paging
// and those in the path itself.
func (c *contract) filtersOf(t *testing.T, path string) (names []string) {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	item, found := c.paths[documentedPath(c.paths, path)].(map[string]any)
	if !found {
		t.Fatalf("the document has no list %s", path)
	}
	parameters, _ := item["get"].(map[string]any)["parameters"].([]any)
	for _, one := range parameters {
		p, _ := one.(map[string]any)
		name, _ := p["name"].(string)
		if p["in"] == "query" && !slices.Contains([]string{"limit", "offset", "cursor"}, name) && !strings.HasPrefix(query, name+"=") {
			names = append(names, name)
		}
	}
	return names
}

func documentedPath(paths map[string]any, path string) string {
	words := func(path string) string { return placeholder.ReplaceAllString(path, "{}") }
	for known := range paths {
		if words(known) == words(path) {
			return known
		}
	}
	return ""
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

func hostileQueries(own []string, few bool) []string {
	var all []string
	for _, name := range []string{"limit", "offset"} {
		for _, value := range hostileNumbers {
			all = append(all, name+"="+escaped(value))
		}
		all = append(all, name, name+"=1&"+name+"=2", name+"=1&"+name+"=", name+"[]=1")
	}
	for _, value := range append(hostileTexts, "e30.e30", "..", "AAAA.", ".AAAA", "bnVsbA.AAAA") {
		all = append(all, "cursor="+escaped(value))
	}
	all = append(all, "cursor=a&cursor=b", "limit=1000&offset=9223372036854775807", "limit=1&offset=9223372036854775805", "limit=1000&offset=9223372036854774807", "limit=1000&offset=4611686018427387904")
	for _, name := range own {
		values := append(append([]string{}, hostileTexts...), hostileNumbers...)
		if strings.Contains(name, "date") || strings.Contains(name, "timestamp") || name == "last_update" {
			values = hostileDates
		}
		if few {
			values = someValues
		}
		for _, value := range values {
			all = append(all, name+"="+escaped(value))
		}
		all = append(all, name, name+"=a&"+name+"=b")
	}
	return all
}

func escaped(value string) string {
	if strings.Contains(value, "%") {
		return value
	}
	return url.QueryEscape(value)
}

// TestFiltersAtTheirEndsSelectNothing uses filters with an unknown client, or with a max_date
// before every payment. The service must refuse such a filter, or list nothing.
func TestFiltersAtTheirEndsSelectNothing(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		s.created(t, "")
		for _, path := range []string{"/payments?id_client=-1", "/payments?id_client=0", "/payments?max_date=0001", "/payments?max_date=0001-01", "/payments?max_date=0001-01-01", "/payments?max_date=0002"} {
			r := s.do(t, ask{method: "GET", path: path, token: "admin"})
			if r.status == 400 {
				continue
			}
			var p page
			if r.decode(t, &p); p.Total != 0 {
				t.Errorf("%s lists %d", path, p.Total)
			}
		}
	})
}
