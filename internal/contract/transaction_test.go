package contract_test

import "strings"

// transactionShapes are the shapes of transactions. In the text, the word Type stands for the names
// of all transaction types.
var transactionShapes = strings.ReplaceAll(`
Transaction      id int, id_account int, application_date date, date date, datetime time?, vdate date?, vdatetime time?, rdate date, rdatetime time?, bdate date?, bdatetime time?
                 value num, gross_value num?, type Type, original_wording text, simplified_wording str, wording str, categories [Category], date_scraped time, coming bool, active bool
                 id_cluster int?, comment str?, last_update time, deleted time?, original_value num?, original_gross_value num?, original_currency Currency?
                 commission num?, commission_currency Currency?, country str?, card str, counterparty Counterparty?
                 id_category int, state str, stemmed_wording str, nature Type, documents_count int, informations obj, formatted_value text, webid str
RUST.Transaction id int, id_account int, value num, stemmed_wording str, formatted_value str, application_date str, last_update str, card str, coming bool, active bool
PYP.Transaction  id int, id_account int, date date, rdate date, type text, original_wording str, simplified_wording str, date_scraped time, coming bool, active bool
SDK.Transaction  id int, id_account int, date date, type text, date_scraped time, rdate date, coming bool, active bool
Category         code text, parent_code str?
Counterparty     label str?, account_scheme_name (iban|bban|sort_code_account_number|cpan|tpan)?, account_identification str?, type (creditor|debtor)?
Transactions     transactions [Transaction]+, first_date date, last_date date, result_min_date date, result_max_date date, total int, _links Links
RUST.List        transactions [RUST.Transaction]+, first_date str, last_date str, total int, _links RUST.Links
PYP.List         transactions [PYP.Transaction]+
SDK.List         transactions [SDK.Transaction]+, first_date date, last_date date, result_min_date date, result_max_date date
Nothing          transactions [null], first_date date, last_date date, result_min_date date, result_max_date date, total int, _links Links
RUST.Links       self Link, prev null, next Link?
Links            self Link, prev Link?, next Link?
Link             href url
Ahead            _links Next
Next             self Link, prev null, next Link
OfAccount        account Account
OfAccount.List   transactions [OfAccount]+`, " Type", " (transfer|order|check|deposit|payback|withdrawal|loan_repayment|bank|card|deferred_card|summary_card|unknown|market_order|market_fee|arbitrage|profit|refund|payout|payment|fee)")

// transactionFacts are requests to the endpoints of transactions (section 6.1 of the fact list).
var transactionFacts = ofSection("6.1",
	row{fact: "GET /users/{u}/transactions without limit", by: "OLD", call: "GET /2.0/users/me/transactions", as: "user", status: 200, shapes: "Transactions PYP.List SDK.List RUST.List"},
	row{fact: "GET /users/{u}/transactions/", by: "OLD", call: "GET /2.0/users/me/transactions/", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?limit=", by: "SDK", call: "GET /2.0/users/me/transactions?limit=50", as: "user", status: 200, shapes: "Transactions SDK.List Ahead", says: []string{`"next":{"href":"{base}/users/me/transactions?`}},
	row{fact: "GET /users/{u}/transactions with dates and last_update", by: "RUST", call: "GET /2.0/users/{user}/transactions?limit=1000&last_update=2025-01-01%2000:00:00", as: "user", status: 200, shapes: "RUST.List Transactions"},
	row{fact: "GET /users/{u}/transactions?offset=", by: "PYP", call: "GET /2.0/users/me/transactions?limit=100&offset=100", as: "user", status: 200, shapes: "Transactions PYP.List"},
	row{fact: "GET /users/{u}/transactions?filter=date", by: "SURE", call: "GET /2.0/users/me/transactions?min_date=2026-01-01&max_date=2026-11-30&filter=date&limit=1000&all", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions by month and year", by: "D", call: "GET /2.0/users/me/transactions?limit=10&min_date=2026&max_date=2026-11", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?income=", by: "PYX", call: "GET /2.0/users/me/transactions?limit=10&income=True&deleted", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions by value", by: "D", call: "GET /2.0/users/me/transactions?limit=10&min_value=-100&max_value=0", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?value=XX|-XX", by: "D", call: "GET /2.0/users/me/transactions?limit=10&value={value}%7C-{value}", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?value=±XX", by: "D", call: "GET /2.0/users/me/transactions?limit=10&value=%C2%B1{value}", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?wording=", by: "D", call: "GET /2.0/users/me/transactions?limit=10&wording=train", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?search=", by: "D", call: "GET /2.0/users/me/transactions?limit=10&search=train", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions?expand=", by: "D", call: "GET /2.0/users/me/transactions?limit=10&expand=account,categories,category,informations,documents", as: "user", status: 200, shapes: "Transactions OfAccount.List"},
	row{fact: "GET /users/{u}/transactions by filters that are none", by: "JB", call: "GET /2.0/users/me/transactions?limit=10&start_date=2026-01-01&end_date=2026-12-31&coming=0&id_connection={connection}", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions of a time when there was none", by: "RUST", call: "GET /2.0/users/me/transactions?limit=10&min_date=2031-01&max_date=2031-02", as: "user", status: 200, shapes: "Nothing"},
	row{fact: "GET /users/{u}/transactions without account", by: "SURE", call: "GET /2.0/users/me/transactions?limit=10", as: "Bearer {new user token}", status: 409, shapes: "Error", says: []string{`"code":"noAccount"`}},
	row{fact: "GET /users/{u}/accounts/{a}/transactions", by: "GRIP", call: "GET /2.0/users/me/accounts/{account}/transactions?limit=50", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/connections/{c}/transactions", by: "D", call: "GET /2.0/users/me/connections/{connection}/transactions?limit=50", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/connections/{c}/accounts/{a}/transactions", by: "interface.md", call: "GET /2.0/users/{user}/connections/{connection}/accounts/{account}/transactions?limit=50", as: "user", status: 200, shapes: "Transactions"},
	row{fact: "GET /users/{u}/transactions/{t}", by: "D", call: "GET /2.0/users/me/transactions/{transaction}", as: "user", status: 200, shapes: "Transaction RUST.Transaction PYP.Transaction SDK.Transaction"},
	row{fact: "GET of the whole way to a transaction", by: "interface.md", call: "GET /2.0/users/me/connections/{connection}/accounts/{transaction account}/transactions/{transaction}", as: "user", status: 200, shapes: "Transaction"},
	row{fact: "POST /users/{u}/transactions/{t}", by: "SDK", call: "POST /2.0/users/me/transactions/{transaction}", as: "user", kind: asJSON, body: `{"wording":"Coffee","application_date":"2026-11-01","categories":[{"code":"coffee","parent_code":"food"}],"comment":"with Anna","active":false}`, status: 200, shapes: "Transaction", says: []string{`"wording":"Coffee"`, `"comment":"with Anna"`}},
	row{fact: "PUT /users/{u}/transactions/{t} in a form", by: "CASH", call: "PUT /2.0/users/me/transactions/{transaction}", as: "user", kind: asForm, body: `wording=Tea&active=1&id_category=9998`, status: 200, shapes: "Transaction", says: []string{`"wording":"Tea"`, `"active":true`}},
)
