package contract_test

import (
	"strconv"
	"strings"
)

const conventionShapes = `
Error       exactly code text, description text, message str?, request_id digits
Payments    payments [any], total int
Past        connections [null], total int
Payment     id int, state text, error_code str?, error_description str?, register_date time, validate_uri str?, client_redirect_uri str?, state_detail str?, id_connector int?
            connector_uuid uuid?, action str?, instructions [Instruction]+
Instruction reference_id text, execution_date_type text, label text, amount num, currency Currency, exec_date date?, execution_date date?, beneficiary Beneficiary
Beneficiary id int, id_account int?, label text, scheme_name text, identification text, issuer str?, disabled_date str?, merchant_scheme_name str?, merchant_identification str?, bic str?
Terms       terms obj, content text, language text`

// ruleFacts are requests that check the rules on which existing clients depend (section 0 of the
// fact list).
var ruleFacts = ofSection("0",
	row{fact: "rule 1: the version in front", by: "FORM", call: "GET /2.0/users/me", as: "user", status: 200, shapes: "User"},
	row{fact: "rule 1: the version twice", by: "FORM", call: "GET /2.0/2.0/users/me", as: "user", status: 200, shapes: "User"},
	row{fact: "rule 1: webhooks/auth without it, and what it says in the query", by: "FORM", call: "POST /webhooks/auth?type=hmac_signature&name=formance", as: "config", kind: asJSON, status: 200, shapes: "Provider Secret"},
	row{fact: "rule 1: webhooks/auth without it", by: "FORM", call: "GET /webhooks/auth?limit=1000", as: "config", status: 200, shapes: "Providers"},
	row{fact: "rule 1: nothing else without it", by: "decisions.md", call: "GET /users/me", as: "user", status: 404, shapes: "Error"},
	row{fact: "rule 2: JSON", by: "D", call: "POST /2.0/users/me/config", as: "user", kind: asJSON, body: `{"a":"b"}`, status: 200, shapes: "Config", says: []string{`"a":"b"`}},
	row{fact: "rule 2: a form", by: "CASH", call: "POST /2.0/users/me/config", as: "user", kind: asForm, body: `a=c+d`, status: 200, shapes: "Config", says: []string{`"a":"c d"`}},
	row{fact: "rule 2: parts", by: "SW", call: "POST /2.0/auth/init", kind: asMultipart, body: `client_id={client}&client_secret={secret}`, status: 200, shapes: "Init"},
	row{fact: "rule 2: the query, with a JSON content type and no body", by: "FORM", call: "POST /2.0/auth/init?client_id={client}&client_secret={secret}", kind: asJSON, status: 200, shapes: "Init"},
	row{fact: "rule 2: the query beside a body", by: "FORM", call: "POST /2.0/auth/init?client_id={client}", kind: asJSON, body: `{"client_secret":"{secret}"}`, status: 200, shapes: "Init"},
	row{fact: "rule 2: JSON with a charset", by: "PYX", call: "POST /2.0/auth/init", kind: "application/json; charset=utf-8", body: `{"client_id":"{client}","client_secret":"{secret}"}`, status: 200, shapes: "Init"},
	row{fact: "rule 3: a slash at the end", by: "OLD", call: "GET /2.0/connectors/", status: 200, shapes: "Connectors"},
	row{fact: "rule 3: a slash at the end of what is written", by: "OLD", call: "POST /2.0/auth/token/access/", kind: asForm, body: `client_id={client}&client_secret={secret}&code={new code}`, status: 200, shapes: "Access"},
	row{fact: "rule 4: ?all", by: "SURE", call: "GET /2.0/users/me/accounts/{disabled}?all", as: "user", status: 200, shapes: "Account"},
	row{fact: "rule 4: ?all=", by: "SYMF", call: "GET /2.0/users/me/accounts/{disabled}?all=", as: "user", status: 200, shapes: "Account"},
	row{fact: "rule 4: ?all=true", by: "SDK", call: "GET /2.0/users/me/accounts/{disabled}?all=true", as: "user", status: 200, shapes: "Account"},
	row{fact: "rule 4: ?all=True", by: "PYX", call: "GET /2.0/users/me/accounts/{disabled}?all=True", as: "user", status: 200, shapes: "Account"},
	row{fact: "rule 4: ?all=1", by: "SW", call: "GET /2.0/users/me/accounts/{disabled}?all=1", as: "user", status: 200, shapes: "Account"},
	row{fact: "rule 4: ?all=0", by: "SW", call: "GET /2.0/users/me/accounts/{disabled}?all=0", as: "user", status: 404, shapes: "Error"},
	row{fact: "rule 4: ?all=false", by: "SW", call: "GET /2.0/users/me/accounts/{disabled}?all=false", as: "user", status: 404, shapes: "Error"},
	row{fact: "rule 4: ?background", by: "D", call: "POST /2.0/users/me/connections/{new connection}?background", as: "user", status: 200, shapes: "Connection"},
	row{fact: "rule 4: psu_requested=False", by: "PYX", call: "PUT /2.0/users/me/connections/{connection}?psu_requested=False", as: "user", status: 200, shapes: "Connection"},
	row{fact: "rule 5: links begin with what was called", by: "PYP", call: "GET /2.0/users/me/transactions?limit=2", as: "user", status: 200, shapes: "Transactions", says: []string{`"self":{"href":"{base}/users/me/transactions?limit=2"}`, `"next":{"href":"{base}/users/me/transactions?cursor=`}},
	row{fact: "rule 5: links of a list that begins elsewhere", by: "BART", call: "GET /2.0/2.0/users/me/transactions?limit=2", as: "user", status: 200, shapes: "Transactions", says: []string{`"self":{"href":"{base}/2.0/users/me/transactions?limit=2"}`}},
	row{fact: "rule 6: money is numbers", by: "RUST", call: "GET /2.0/users/me/accounts/{account}", as: "user", status: 200, shapes: "RUST.Account"},
	row{fact: "rule 6: money is numbers, in a payment", by: "JB", call: "GET /2.0/payments/{payment}", as: "service", status: 200, shapes: "Payment"},
	row{fact: "rule 7: instants have a space and no zone", by: "SDK", call: "GET /2.0/users/me/connections/{connection}", as: "user", status: 200, shapes: "SDK.Connection Connection"},
	row{fact: "rule 9: Basic with a colon behind the secret", by: "OLD", call: "POST /2.0/auth/token/access", as: "Basic {basic colon}", kind: asForm, body: `code={new code}`, status: 200, shapes: "Access"},
	row{fact: "rule 12: an unknown parameter", by: "D", call: "GET /2.0/users/me?colour=blue", as: "user", status: 200, shapes: "User"},
	row{fact: "rule 12: an unknown key", by: "D", call: "POST /2.0/users/me/accounts/{account}", as: "user", kind: asJSON, body: `{"colour":{"is":["blue"]},"display":true}`, status: 200, shapes: "Account"},
	row{fact: "rule 12: an unknown expansion", by: "OLD", call: "GET /2.0/users/me/connections/{connection}?expand=bank,connector[nothing[more]],accounts[transactions[category],investments[type]]", as: "user", status: 200, shapes: "Connection"},
	row{fact: "rule 12: the type of a token", by: "D", call: "POST /2.0/auth/renew", kind: asForm, body: `client_id={client}&client_secret={secret}&id_user={new user}`, status: 200, shapes: "Access", says: []string{`"token_type":"Bearer"`}},
	row{fact: "rule 13: closed sets, connectors", by: "SDK", call: "GET /2.0/connectors", status: 200, shapes: "SDK.Connectors"},
)

// openFacts are reads without a token, with a user's token and with a config token (section 0 of
// the fact list, rule 8).
var openFacts = ofSection("0 rule 8:", open(
	"Connectors /connectors", "Connector /connectors/{test connector}", "AccountTypes /account_types", "Currencies /currencies",
	"Banks /banks", "Connector /banks/40", "Providing /providers", "Connector /providers/64", "DocumentTypes /documenttypes", "JWK /publickey", "Terms /terms",
)...)

func open(reads ...string) []row {
	var rows []row
	for _, read := range reads {
		shape, path, _ := strings.Cut(read, " ")
		for _, as := range []string{"", "user", "config"} {
			rows = append(rows, row{fact: "GET " + path + " as " + strconv.Quote(as), by: "PYP, RB", call: "GET /2.0" + path, as: as, status: 200, shapes: shape})
		}
	}
	return rows
}

// errorFacts are requests that fail, with their errors (section 11 of the fact list).
var errorFacts = ofSection("11",
	row{fact: "a missing parameter", by: "D", call: "POST /2.0/auth/token", kind: asJSON, body: `{"client_id":"{client}","client_secret":"{secret}"}`, status: 400, shapes: "Error", says: []string{`"code":"missingParameter"`}},
	row{fact: "an invalid value", by: "D", call: "GET /2.0/users/me/transactions?limit=abc", as: "user", status: 400, shapes: "Error", says: []string{`"code":"invalidValue"`}},
	row{fact: "a body that is no JSON", by: "D", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{`, status: 400, shapes: "Error"},
	row{fact: "a path that is none", by: "BART", call: "GET /2.0/nothing", as: "user", status: 404, shapes: "Error", says: []string{`"code":"notFound"`}},
	row{fact: "something that is not there", by: "BART", call: "GET /2.0/users/me/connections/4611686018427387904", as: "user", status: 404, shapes: "Error", says: []string{`"code":"notFound"`}},
	row{fact: "a method that is none", by: "D", call: "DELETE /2.0/connectors", as: "config", status: 405, shapes: "Error", says: []string{`"code":"methodNotAllowed"`}},
	row{fact: "a scope that lacks", by: "SDK", call: "GET /2.0/users", as: "user", status: 403, shapes: "Error", says: []string{`"code":"forbidden"`}},
)

// webviewFacts are requests to page addresses that programs build (section 12 of the fact list).
var webviewFacts = ofSection("12.1",
	row{fact: "{base}/auth/webview/{lang}/payment", by: "OLD, SYMF", call: "GET /2.0/auth/webview/fr/payment?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&code={payment code}&payment_id={payment}", status: 303, leads: "/2.0/auth/webview/fr/payment?payment_id={payment}"},
	row{fact: "{webview}/{lang}/payment", by: "PYX, BART", call: "GET /webview/en/payment?domain=127.0.0.1&client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&code={payment code}&payment_id={payment}&state=x", status: 303, leads: "/webview/en/payment?payment_id={payment}"},
	row{fact: "{webview}/payment without language", by: "BART", call: "GET /webview/payment?domain=127&client_id={client}&code={payment code}&payment_id={payment}", status: 303, leads: "/webview/"},
)

// conventionFacts are requests that check general conventions, such as the limit of a list (section
// 13 of the fact list).
var conventionFacts = ofSection("13",
	row{fact: "limit above 1000", by: "D", call: "GET /2.0/users/me/transactions?limit=1001", as: "user", status: 400, shapes: "Error", says: []string{`"code":"invalidValue"`}},
	row{fact: "limit 1000", by: "D", call: "GET /2.0/users/me/transactions?limit=1000", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "offset past the end", by: "PYP", call: "GET /2.0/users/me/connections?limit=100&offset=100", as: "user", status: 200, shapes: "Past"},
	row{fact: "a day", by: "D", call: "GET /2.0/users/me/transactions?limit=1&min_date=2024-03-01", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "a month", by: "D", call: "GET /2.0/users/me/transactions?limit=1&min_date=2024-03", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "a year", by: "D", call: "GET /2.0/users/me/transactions?limit=1&min_date=2024", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "POST is PUT's twin", by: "SW", call: "POST /2.0/users/me/accounts/{account}", as: "user", kind: asForm, body: `display=1`, status: 200, shapes: "Account"},
	row{fact: "short form, connections", by: "D", call: "GET /2.0/connections", as: "user", status: 200, shapes: "Connections"},
	row{fact: "short form, accounts", by: "interface.md", call: "GET /2.0/accounts", as: "user", status: 200, shapes: "Accounts"},
	row{fact: "short form, transactions", by: "decisions.md", call: "GET /2.0/transactions?limit=1", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "short form, subscriptions", by: "decisions.md", call: "GET /2.0/subscriptions", as: "user", status: 200, shapes: "Subscriptions"},
	row{fact: "short form, documents", by: "decisions.md", call: "GET /2.0/documents", as: "user", status: 200, shapes: "Documents"},
)

func quoted(words string) []string {
	all := strings.Fields(words)
	for i, word := range all {
		all[i] = strconv.Quote(word)
	}
	return all
}
