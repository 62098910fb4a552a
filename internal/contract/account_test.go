package contract_test

const accountShapes = `
Account         id int, id_connection int, id_user int, id_source int, id_parent int?, id_type int, number str?, iban str?, bic str?, webid str?, name text, original_name text
                balance num?, coming num?, coming_balance num?, formatted_balance text, currency Currency?, type text, usage (PRIV|ORGA)?, ownership (owner|co-owner|attorney)?
                display bool, bookmarked bit, disabled time?, deleted time?, last_update time?, opening_date date?, error str?, company_name str?, information obj, loan Loan?
SDK.Account     id int, id_connection int, id_user int, id_source int, currency SDK.Currency, usage (PRIV|ORGA|ASSO)
RUST.Account    id int, number str, iban str, bic str, webid str, balance num, bookmarked bit, type str, name str
SDK.Currency    id text, name text, symbol text, precision int
Currency        id text, symbol str?, prefix bool, crypto bool, precision int, marketcap null, datetime null, name text
Loan            total_amount num?, available_amount num?, used_amount num?, subscription_date date?, maturity_date date?, start_repayment_date date?, deferred bool?
                next_payment_amount num?, next_payment_date date?, rate num?, nb_payments_left int?, nb_payments_done int?, nb_payments_total int?
                last_payment_amount num?, last_payment_date date?, account_label str?, insurance_label str?, insurance_amount num?, insurance_rate num?, duration int?
                type (mortgage|consumercredit|revolvingcredit|loan)
Lent            loan Loan
Accounts        accounts [Account]+, balance num?, balances {num}, coming_balances {num}, total int
RUST.Accounts   accounts [RUST.Account]+, balance num, balances {num}, coming_balances {num}, total int
SDK.Accounts    accounts [SDK.Account]+, balances {num}
No.Accounts     accounts [null], balance num?, balances {num}, coming_balances {num}, total int
AccountType     id int, name text, id_parent int?, is_invest bool, display_name text, display_name_p text
AccountTypes    accounttypes [AccountType]+, total int
Currencies      currencies [Currency]+
Ownership       id_account int, id_connection int, id_user int, id_connector_source int?, name text, bank_name text, multiple_holders bool, calculated [str], usage (PRIV|ORGA)?
                parties [Party]+, identifications [Identification]
Party           role (holder|co_holder|attorney|custodian_for_minor|legal_guardian|nominee|successor_on_death|trustee|unknown), identity Holder
Holder          is_user bool?, full_name str
Identification  scheme_name text, identification text
Ownerships      account_ownerships [Ownership]+`

// accountFacts are requests to the endpoints of accounts (section 5.1 of the fact list).
var accountFacts = ofSection("5.1",
	row{fact: "GET /users/{u}/accounts", by: "RUST", call: "GET /2.0/users/me/accounts", as: "user", status: 200, shapes: "Accounts RUST.Accounts SDK.Accounts"},
	row{fact: "GET /users/{u}/accounts?all", by: "SURE", call: "GET /2.0/users/me/accounts?all", as: "user", status: 200, shapes: "Accounts SDK.Accounts"},
	row{fact: "GET /users/{u}/accounts?all=", by: "SYMF", call: "GET /2.0/users/me/accounts?all=", as: "user", status: 200, shapes: "Accounts"},
	row{fact: "GET /users/{u}/accounts by pages", by: "PYP", call: "GET /2.0/users/me/accounts?limit=100&offset=0", as: "user", status: 200, shapes: "Accounts"},
	row{fact: "GET /users/{u}/accounts of nobody who shares", by: "RUST", call: "GET /2.0/users/me/accounts", as: "Bearer {new user token}", status: 200, shapes: "No.Accounts"},
	row{fact: "GET /users/{u}/connections/{c}/accounts", by: "SDK", call: "GET /2.0/users/{user}/connections/{connection}/accounts?all=true", as: "user", status: 200, shapes: "Accounts SDK.Accounts"},
	row{fact: "GET /users/{u}/accounts/{a}", by: "BART", call: "GET /2.0/users/me/accounts/{account}", as: "user", status: 200, shapes: "Account SDK.Account RUST.Account"},
	row{fact: "GET /users/{u}/accounts/{a} of a loan", by: "TNG", call: "GET /2.0/users/me/accounts/{loan}", as: "user", status: 200, shapes: "Account Lent"},
	row{fact: "GET /users/{u}/accounts/{a}, disabled", by: "BART", call: "GET /2.0/users/me/accounts/{disabled}", as: "user", status: 404, shapes: "Error", says: []string{`"code":"notFound"`}},
	row{fact: "GET /users/{u}/accounts/{a}?all, disabled", by: "BART", call: "GET /2.0/users/me/accounts/{disabled}?all", as: "user", status: 200, shapes: "Account"},
	row{fact: "POST /users/{u}/accounts/{a}", by: "PYP", call: "POST /2.0/users/me/accounts/{account}", as: "user", kind: asJSON, body: `{"name":"Mine","display":true,"bookmarked":1,"usage":"PRIV"}`, status: 200, shapes: "Account", says: []string{`"name":"Mine"`, `"bookmarked":1`}},
	row{fact: "PUT /users/{u}/accounts/{a}, bookmarked a boolean", by: "SDK", call: "PUT /2.0/users/me/accounts/{account}", as: "user", kind: asJSON, body: `{"bookmarked":false}`, status: 200, shapes: "Account", says: []string{`"bookmarked":0`}},
	row{fact: "PUT /users/{u}/accounts/{a} in a form", by: "RB", call: "PUT /2.0/users/me/accounts/{account}?all", as: "user", kind: asForm, body: `disabled=0&display=True`, status: 200, shapes: "Account", says: []string{`"disabled":null`}},
	row{fact: "POST /users/{u}/accounts/{a}?all", by: "SURE", call: "POST /2.0/users/me/accounts/{account}?all=true", as: "user", kind: asJSON, body: `{"disabled":false}`, status: 200, shapes: "Account"},
	row{fact: "PUT /users/{u}/accounts, all at once", by: "D", call: "PUT /2.0/users/me/accounts?all", as: "user", kind: asJSON, body: `{"display":true}`, status: 200, shapes: "Accounts"},
	row{fact: "PUT /users/{u}/connections/{c}/accounts/{a1,a2}?all", by: "D", call: "PUT /2.0/users/me/connections/{connection}/accounts/{accounts}?all", as: "user", kind: asJSON, body: `{"disabled":false}`, status: 200, shapes: "Accounts"},
	row{fact: "PUT /users/{u}/accounts/{a}, its name and usage", by: "SW", call: "PUT /2.0/users/me/accounts/{account}", as: "user", kind: asForm, body: `name=Mine&usage=PRIV&bookmarked=1`, status: 200, shapes: "Account", says: []string{`"name":"Mine"`, `"usage":"PRIV"`, `"bookmarked":1`}},
	row{fact: "DELETE /users/{u}/accounts/{a}", by: "SW", call: "DELETE /2.0/users/me/accounts/{new account}?all", as: "user", status: 204},
	row{fact: "DELETE /users/{u}/accounts", by: "SW", call: "DELETE /2.0/users/me/accounts", as: "Bearer {new user token}", status: 204},
	row{fact: "GET /account_types", by: "D", call: "GET /2.0/account_types", status: 200, shapes: "AccountTypes"},
	row{fact: "GET /account_types/{id}", by: "D", call: "GET /2.0/account_types/6", status: 200, shapes: "AccountType"},
	row{fact: "GET /users/{u}/account_types", by: "SW", call: "GET /2.0/users/me/account_types", as: "user", status: 200, shapes: "AccountTypes"},
	row{fact: "GET /currencies", by: "D", call: "GET /2.0/currencies", status: 200, shapes: "Currencies"},
)

// accountTypeFacts are requests for the account types. The types must have the names in section 5.3
// of the fact list.
var accountTypeFacts = ofSection("5.3",
	row{fact: "the names of the types", by: "D, TNG", call: "GET /2.0/account_types", status: 200, shapes: "AccountTypes", says: quoted(
		"article83 capitalisation card cat cel checking consumercredit crowdlending csl deposit joint ldds lep lifeinsurance livret_a livret_b loan madelin market mortgage pea pee pel per perco perp real_estate revolvingcredit rsp savings unknown")},
)

// ownershipFacts are requests for the holders of accounts (section 5.5 of the fact list).
var ownershipFacts = ofSection("5.5",
	row{fact: "GET /users/{u}/account_ownerships", by: "PYP", call: "GET /2.0/users/me/account_ownerships", as: "user", status: 200, shapes: "Ownerships"},
	row{fact: "GET /users/{u}/connections/{c}/account_ownership_certificate", by: "D", call: "GET /2.0/users/me/connections/{connection}/account_ownership_certificate", as: "user", status: 200, gives: "application/pdf"},
)
