package api_test

import (
	"fmt"
	"strings"
	"testing"

	"passerelle/internal/store/storetest"
)

func TestConnectorConfigScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	get := func(path string) ask { return ask{method: "GET", path: path} }
	var (
		test  = "/connectors/" + testConnector
		reset = map[string]int64{"setting": -1, "setting_change": 1}
		two   = map[string]int64{"setting": 2, "setting_change": 2}
		list  = map[string]int64{"setting": 1, "setting_change": 4}
	)
	play(t, "connectorconfig", []scenario{
		{name: "hide", status: 200, rows: aSetting, ask: config("PUT", "/connectors/43", `{"hidden":true}`)},
		{name: "hidden", status: 200, ask: get("/connectors/43")},
		{name: "not elsewhere", status: 200, ask: ask{domain: "other", method: "GET", path: "/connectors/43"}},
		{name: "hide again", status: 200, ask: config("POST", "/connectors/43", `{"hidden":true,"unknown":1}`)},
		{name: "as the connector says", status: 200, rows: reset, ask: config("POST", "/connectors/43", `{"hidden":null}`)},
		{name: "nothing", status: 200, ask: config("PUT", "/connectors/43", `{}`)},
		{name: "in a form", status: 200, rows: two, ask: ask{method: "PUT", path: test, token: "config", contentType: "application/x-www-form-urlencoded", body: "auth_mechanism=webauth&sync_periodicity=0.5"}},
		{name: "the other name agrees", status: 200, ask: config("PUT", test, `{"sync_frequency":0.5,"sync_periodicity":0.5}`)},
		{name: "the other name does not", status: 400, ask: config("PUT", test, `{"sync_frequency":1,"sync_periodicity":2}`)},
		{name: "a mechanism that is not available", status: 400, ask: config("PUT", "/connectors/64", `{"auth_mechanism":"webauth"}`)},
		{name: "a frequency that is none", status: 400, ask: config("PUT", test, `{"sync_frequency":0}`)},
		{name: "a frequency with leading zeros", status: 400, ask: config("PUT", test+"?sync_frequency=007", `{}`)},
		{name: "a text that is no flag", status: 400, ask: config("PUT", test, `{"hidden":"perhaps"}`)},
		{name: "unknown, strictly", status: 400, ask: ask{method: "PUT", path: test, token: "config", body: `{"hiden":true}`, header: map[string]string{"Prefer": "handling=strict"}}},
		{name: "none", status: 404, ask: config("PUT", "/connectors/9999", `{"hidden":true}`)},
		{name: "one of a live domain", status: 404, ask: ask{domain: "live", method: "PUT", path: test, token: "config", body: `{"hidden":true}`}},
		{name: "several", status: 200, rows: two, ask: config("PUT", "/connectors/43,"+oneByOne, `{"hidden":true}`)},
		{name: "several and none", status: 404, ask: config("PUT", "/connectors/45,9999", `{"hidden":true}`)},
		{name: "a map", status: 200, rows: list, ask: config("PATCH", "/connectors", `{"`+lowLimit+`":{"hidden":null},"`+oneByOne+`":{"hidden":false},"`+provider+`":{"hidden":true,"sync_frequency":"2"}}`)},
		{name: "a map of an unknown connector", status: 400, ask: config("PATCH", "/connectors", `{"`+oneByOne+`":{"hidden":true},"nobody":{"hidden":true}}`)},
		{name: "a map of a wrong value", status: 400, ask: config("PATCH", "/connectors", `{"`+oneByOne+`":{"hidden":7}}`)},
		{name: "an empty map", status: 200, ask: config("PATCH", "/connectors", `{}`)},
		{name: "disable a source", status: 200, rows: aSetting, ask: config("PUT", test+"/sources/402", `{"disabled":true}`)},
		{name: "disable it again", status: 200, ask: config("POST", test+"/sources/402", `{"disabled":true,"auth_mechanism":"credentials"}`), rows: aSetting},
		{name: "a mechanism that the source lacks", status: 400, ask: config("PUT", test+"/sources/402", `{"auth_mechanism":"webauth"}`)},
		{name: "a source of another", status: 404, ask: config("PUT", test+"/sources/411", `{"disabled":true}`)},
		{name: "no source", status: 404, ask: config("PUT", "/connectors/9999/sources/402", `{"disabled":true}`)},
		{name: "disabled and left out", status: 200, ask: get(test + "/sources")},
		{name: "disabled and asked for", status: 200, ask: get(test + "/sources?all")},
		{name: "the disabled source", status: 404, ask: get(test + "/sources/402")},
		{name: "the disabled source, with all", status: 200, ask: get(test + "/sources/402?all")},
		{name: "the source that is left", status: 200, ask: get(test + "?expand=sources")},
		{name: "a connection through what is disabled", status: 400, ask: ask{method: "POST", path: "/connections", token: "user", body: strings.Replace(connecting, `"login"`, `"source":"directaccess","login"`, 1)}},
		{name: "a connection through what is left", status: 202, rows: with(aConnection, map[string]int64{"event": -1, "connection_return": 1}), events: versions(1, "CONNECTION_SYNCED"), ask: ask{method: "POST", path: "/connections", token: "user", body: connecting}},
		{name: "the connector of the connection", status: 200, ask: ask{method: "GET", path: "/connections?expand=connector[sources]", token: "user"}},
		{name: "all on record", status: 200, ask: config("GET", "/config/logs?search=connectors.&limit=5", "")},
		{name: "not among other keys", status: 200, ask: config("GET", "/config?search=connectors.", "")},
		{name: "three keys back", status: 200, rows: map[string]int64{"setting": -2, "setting_change": 2}, ask: config("PUT", test, `{"hidden":null,"auth_mechanism":null,"sync_frequency":null}`)},
		{name: "the source back", status: 200, rows: reset, ask: config("PUT", test+"/sources/402", `{"disabled":false}`)},
	})
}

// A hidden connector can still make payments. A connector without an enabled source cannot, and no
// list for a payment contains it.
func TestConfiguredConnectorsOfPayments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		config := func(path, body string) {
			t.Helper()
			s.do(t, ask{method: "PUT", path: path, token: "config", body: body}).says(t, 200, "", "")
		}
		id := s.fill(t, ask{path: "{payment}"}).path
		_, before := s.against(t, id, false)
		config("/connectors/"+oneByOne, `{"hidden":true}`)
		config("/connectors/"+lowLimit+"/sources/431", `{"disabled":true}`)
		able := s.connectors(t, "/connectors?id_payment="+id, "validate").uuids()
		if strings.Contains(strings.Join(able, " "), lowLimit) || !strings.Contains(strings.Join(able, " "), oneByOne) {
			t.Errorf("able are %v", able)
		}
		if _, after := s.against(t, id, false); len(after) > len(before) || after[oneByOne] != nil || after[lowLimit] != nil {
			t.Errorf("against: %v", after)
		}
		validate := func(connector string, status int) {
			t.Helper()
			body := `{"connector_uuid":"` + connector + `","webview_url":"https://shop.example/pay"}`
			code, message := "", ""
			if status == 400 {
				code, message = "invalidValue", "connector_uuid: "
			}
			s.do(t, ask{method: "POST", path: "/payments/" + id, token: "validate", body: body}).says(t, status, code, message)
		}
		validate(oneByOne, 200)
		validate(lowLimit, 400)
		config("/connectors/43/sources/431", `{"disabled":null}`)
		validate(lowLimit, 200)
	})
}

// Earlier versions stored frequencies that are no JSON numbers. They count as numbers of days. The
// service shows null for a stored value that is no number of days.
func TestFrequenciesOfEarlierVersions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "PUT", path: "/connectors/" + testConnector, token: "config", body: `{"sync_frequency":2}`}).says(t, 200, "", "")
		for stored, want := range map[string]string{"2": "2", ".5": "0.5", "1.": "1", "007": "7", "daily": "<nil>", "Inf": "<nil>", "NaN": "<nil>", "-1": "<nil>"} {
			storetest.Break(t, s.url, `UPDATE setting SET value = '`+stored+`' WHERE key LIKE 'connectors.%.sync_frequency'`)
			var shown map[string]any
			s.do(t, ask{method: "GET", path: "/connectors/" + testConnector, token: "config"}).says(t, 200, "", "").decode(t, &shown)
			if got, there := shown["sync_frequency"]; !there || fmt.Sprint(got) != want {
				t.Errorf("%q is shown as %v, want %v", stored, got, want)
			}
		}
	})
}

// The service reads a connection again after the connector's interval, or up to a tenth earlier.
func TestFrequencyOfAConnector(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		c, _ := s.discovered(t, "", "one")
		set := func(frequency string) {
			t.Helper()
			s.do(t, ask{method: "PUT", path: "/connectors/" + testConnector, token: "config", body: `{"sync_frequency":` + frequency + `}`}).says(t, 200, "", "")
			s.do(t, ask{method: "PUT", path: fmt.Sprint("/connections/", c.ID), token: "user"}).says(t, 200, "", "")
		}
		reads := func(after string, want int64) {
			t.Helper()
			before := s.eyes.Count("SELECT count(*) FROM connection_log")
			s.advance(t, after)
			if got := s.eyes.Count("SELECT count(*) FROM connection_log") - before; got != want {
				t.Errorf("after %s more the connection was read %d times, want %d", after, got, want)
			}
		}
		set("3")
		reads("64h", 0) // nine tenths of the interval are 64.8 hours
		reads("8h", 1)
		set("0.5")
		reads("10h", 0)
		reads("2h", 1)
		set("null")
		reads("21h", 0)
		reads("3h", 1)
	})
}
