package api_test

import "testing"

// TestWebauthScenarios checks the calls of /webauth-url. Tests of package servicetest check the
// page at the address that these calls return.
func TestWebauthScenarios(t *testing.T) {
	ask := func(query string) ask { return ask{method: "GET", path: "/webauth-url?" + query, token: "user"} }
	const main = "client_id={client}&redirect_uri=https://shop.example/back"
	strictly := ask(main + "&id_connector=40&website=pro&anything=x")
	strictly.header = map[string]string{"Prefer": "handling=strict"}
	play(t, "webauth", []scenario{
		{name: "a new connection", status: 200, rows: map[string]int64{"token": 1}, ask: ask(main + "&connector_uuid=" + testConnector + "&state=a%20b")},
		{name: "by number and source, with values", status: 200, rows: map[string]int64{"token": 1}, ask: strictly},
		{name: "without application", status: 400, ask: ask("redirect_uri=https://shop.example/back&id_connector=40")},
		{name: "without address", status: 400, ask: ask("client_id={client}&id_connector=40")},
		{name: "another's application", status: 400, ask: ask("client_id={other:client}&redirect_uri=https://shop.example/back&id_connector=40")},
		{name: "no number", status: 400, ask: ask("client_id=first&redirect_uri=https://shop.example/back&id_connector=40")},
		{name: "an address that is not registered", status: 400, ask: ask("client_id={client}&redirect_uri=https://shop.example/other&id_connector=40")},
		{name: "an address with a query", status: 400, ask: ask("client_id={client}&redirect_uri=https://shop.example/back%3fa&id_connector=40")},
		{name: "without connector", status: 400, ask: ask(main)},
		{name: "two wishes", status: 400, ask: ask(main + "&id_connector=40&id_connection=1")},
		{name: "an unknown connector", status: 400, ask: ask(main + "&connector_uuid=nobody")},
		{name: "a connector without such a page", status: 400, ask: ask(main + "&connector_uuid=" + provider)},
		{name: "a source without such a page", status: 400, ask: ask(main + "&id_connector=40&source=directaccess")},
		{name: "a value that is none", status: 400, ask: ask(main + "&id_connector=40&website=x")},
		{name: "a value twice", status: 400, ask: ask(main + "&id_connector=40&website=pro&website=par")},
		{name: "a connection with credentials", status: 400, ask: ask(main + "&id_connection={asking}")},
		{name: "no connection", status: 404, ask: ask(main + "&id_connection=" + noID)},
	})
}
