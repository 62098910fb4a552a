package api_test

import (
	"net/url"
	"strings"
	"testing"
)

// hostileLists contains lists of the API. Each entry has the token that reads the list, and the
// parameters of this list alone.
var hostileLists = []struct{ path, token, own string }{
	{"/payments", "admin", "filter order_by min_date max_date state label payer_end min_amount max_amount id_client id_connector id_connector_source connector_uuid country reference_id"},
	{"/payments?order_by=state", "admin", ""},
	{"/payments?order_by=connectors", "admin", ""},
	{"/payments?order_by=validate_date", "admin", "min_date max_date"},
	{"/payments?label=I", "admin", "order_by min_date"},
	{"/payments?connector_uuid=338178e6-3d01-564f-9a7b-52ca442459bf", "admin", "order_by"},
	{"/payments?country=FR,GB,DE", "admin", "order_by"},
	{"/users", "users", ""},
	{"/users/{user}/transactions", "user", "min_date max_date filter last_update income deleted all wording search min_value max_value value expand"},
	{"/users/{user}/accounts", "user", "all expand"},
	{"/users/{user}/account_ownerships", "user", ""},
	{"/users/{user}/connections", "user", "expand"},
	{"/users/{user}/connections/{holder}/logs", "user", "min_date max_date id_source"},
	{"/users/{user}/subscriptions", "user", "all"},
	{"/users/{user}/documents", "user", "min_date max_date id_type min_amount max_amount min_timestamp max_timestamp"},
	{"/users/{user}/transactions/{transaction}/documents", "user", "min_date max_date min_timestamp max_timestamp"},
	{"/users/{user}/investments", "user", ""},
	{"/users/{user}/market_orders", "user", ""},
	{"/users/{user}/pockets", "user", ""},
	{"/users/{user}/amortizations", "user", ""},
	{"/users/{user}/transactionsclusters", "user", ""},
	{"/users/{user}/consents", "user", ""},
	{"/investments/{position}/history", "user", "all"},
	{"/connectors", "read-only", "country_codes id_payment top top_key expand"},
	{"/config/logs", "config", "min_date max_date search type"},
	{"/webhooks", "config", "all expand"},
	{"/webhooks/auth", "config", "name"},
	{"/webhooks/{webhook}/data", "config", "min_date max_date state"},
	{"/webhooks/{webhook}/logs", "config", "min_date max_date id_user"},
	{"/sandbox/mails", "config", ""},
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

// TestHostileParametersOfLists sends invalid and extreme parameters to each list. The response must
// be a refusal or a page, and never a server error.
func TestHostileParametersOfLists(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.holdings(t, "")
		for range 3 {
			s.created(t, "")
		}
		for _, list := range hostileLists {
			a := s.fill(t, ask{method: "GET", path: list.path, token: list.token})
			for _, query := range hostileQueries(list.own) {
				b := a
				glue := map[bool]string{true: "&", false: "?"}[strings.Contains(a.path, "?")]
				b.path += glue + query
				s.do(t, b)
			}
		}
	})
}

func hostileQueries(own string) []string {
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
	for _, name := range strings.Fields(own) {
		values := append(append([]string{}, hostileTexts...), hostileNumbers...)
		if strings.Contains(name, "date") || strings.Contains(name, "timestamp") || name == "last_update" {
			values = hostileDates
		}
		for _, value := range values {
			all = append(all, name+"="+escaped(value))
		}
		all = append(all, name, name+"=a&"+name+"=b")
	}
	return all
}

// escaped returns a value in escaped form. It returns a value with a percent sign unchanged.
func escaped(value string) string {
	if strings.Contains(value, "%") {
		return value
	}
	return url.QueryEscape(value)
}

// TestFiltersAtTheirEndsSelectNothing uses filters by an unknown application, and by dates before
// all payments. The service must refuse such a filter, or list nothing.
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
