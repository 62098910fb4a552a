package contract_test

const connectionShapes = `
Connection      id int, id_user int?, id_connector int, id_bank int?, id_provider? int?, connector_uuid uuid, state (SCARequired|webauthRequired|additionalInformationNeeded|decoupled|validating|actionNeeded|passwordExpired|wrongpass|rateLimiting|websiteUnavailable|bug)?, error (SCARequired|webauthRequired|additionalInformationNeeded|decoupled|validating|actionNeeded|passwordExpired|wrongpass|rateLimiting|websiteUnavailable|bug)?, error_message str?
                fields? [Field]?, last_update time?, created time, last_push time?, expire time?, next_try time?, active bool
PYP.Connection  id int, connector_uuid uuid, active bool
SDK.Connection  id int, id_connector int, created time, active bool
Connections     connections [Connection]+, total int
Waiting         state (SCARequired|webauthRequired|additionalInformationNeeded|decoupled|validating|actionNeeded|passwordExpired|wrongpass|rateLimiting|websiteUnavailable|bug), error (SCARequired|webauthRequired|additionalInformationNeeded|decoupled|validating|actionNeeded|passwordExpired|wrongpass|rateLimiting|websiteUnavailable|bug)
Asked           state (additionalInformationNeeded), fields [Field]+
Field           name text, type (text|password|date|list|number|hidden), label text, required bool, regex str?, values? [Choice]?, auth_mechanisms [str], connector_sources? [str]
ConnectionSource id int, id_connection int, id_connector_source int, name text, last_update time?, disabled time?, created time, state (SCARequired|webauthRequired|additionalInformationNeeded|decoupled|validating|actionNeeded|passwordExpired|wrongpass|rateLimiting|websiteUnavailable|bug)?
                access_expire time?, expire time?, next_try time?
ConnectionSources sources [ConnectionSource]+
Log             id int, id_connection int, timestamp time, id_user int, id_connector int?, id_source int?, start time, next_try time?, error str?, error_message str?, nb_accounts int
Logs            connectionlogs [Log]+, first_date date?, last_date date?, total int
Expanded        connector Connector, accounts [Account]+, all_accounts [Account]+, sources [ConnectionSource]+
Shared          accounts [Booked]+
Booked          transactions [Transaction]
Subscribed      subscriptions [Subscription]+, all_subscriptions [Subscription]+
OwnerIdentity   id_connection int, id_source int?, id_user int, first_name str?, last_name str?, full_name str?, raw_postal_address str?, postal_address PostalAddress?
PostalAddress   city str?, country str?, country_code str?, postal_code str?, region str?, street_name str?
WebauthURL      exactly url url
Inside          connector Located
Inside.List     connections [Inside]+`

// connectionFacts are requests to the endpoints of connections (section 4.1 of the fact list).
var connectionFacts = ofSection("4.1",
	row{fact: "POST /users/{u}/connections", by: "SURE", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"one","password":"1234"}`, status: 200, shapes: "Connection SDK.Connection PYP.Connection", says: []string{`"state":null`}},
	row{fact: "POST /users/{u}/connections with other members and an unquoted code", by: "D", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"one","password":1234,"website":null,"remember":true}`, status: 200, shapes: "Connection", says: []string{`"state":null`}},
	row{fact: "POST /users/{u}/connections in a form by id_connector", by: "CASH", call: "POST /2.0/users/me/connections", as: "user", kind: asForm, body: `id_connector=40&login=one&password=1234&website=par`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections by id_bank", by: "SW", call: "POST /2.0/users/me/connections", as: "user", kind: asForm, body: `id_bank=40&login=one&password=1234`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections by id_provider", by: "SW", call: "POST /2.0/users/me/connections", as: "user", kind: asForm, body: `id_provider=64&login=one&password=1234`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections?source=&expand=", by: "D", call: "POST /2.0/users/{user}/connections?source=directaccess&expand=connector,accounts", as: "user", kind: asJSON, body: `{"id_connector":40,"login":"one","password":"1234"}`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections with encrypted values", by: "D", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"{login encrypted}","password":"{password encrypted}"}`, status: 200, shapes: "Connection", says: []string{`"state":null`}},
	row{fact: "POST /users/{u}/connections with a question", by: "SW", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"otp","password":"1234"}`, status: 202, shapes: "Connection Waiting Asked"},
	row{fact: "POST /users/{u}/connections, refused", by: "D", call: "POST /2.0/users/me/connections", as: "user", kind: asJSON, body: `{"connector_uuid":"{test connector}","login":"one","password":"wrong"}`, status: 400, shapes: "Error", says: []string{`"code":"wrongpass"`}},
	row{fact: "GET /users/{u}/connections", by: "PROBE", call: "GET /2.0/users/me/connections", as: "user", status: 200, shapes: "Connections"},
	row{fact: "GET /users/{u}/connections by pages", by: "PYP", call: "GET /2.0/users/me/connections?limit=100&offset=0", as: "user", status: 200, shapes: "Connections"},
	row{fact: "GET /users/{u}/connections?expand=", by: "RB", call: "GET /2.0/users/me/connections?expand=connector[countries],bank,connection.connector", as: "user", status: 200, shapes: "Connections Inside.List"},
	row{fact: "GET /users/{u}/connections/{c}", by: "SURE", call: "GET /2.0/users/me/connections/{connection}", as: "user", status: 200, shapes: "Connection SDK.Connection PYP.Connection"},
	row{fact: "GET /users/{u}/connections/{c}?expand=", by: "D", call: "GET /2.0/users/me/connections/{connection}?expand=connector,accounts,all_accounts,sources", as: "user", status: 200, shapes: "Connection Expanded"},
	row{fact: "GET /users/{u}/connections/{c}?expand=, older names", by: "SW", call: "GET /2.0/users/me/connections/{connection}?expand=bank,accounts[transactions[category],investments[type]]", as: "user", status: 200, shapes: "Connection", says: []string{`"bank":{"id":40,`, `"investments":[`}},
	row{fact: "POST /users/{u}/connections/{c} with an answer", by: "D", call: "POST /2.0/users/me/connections/{asking}", as: "user", kind: asJSON, body: `{"otp":"123456"}`, status: 200, shapes: "Connection", says: []string{`"state":null`}},
	row{fact: "POST /users/{u}/connections/{c} with resume", by: "D", call: "POST /2.0/users/me/connections/{deciding}", as: "user", kind: asJSON, body: `{"resume":true}`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c} with {}", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c} with nothing", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asJSON, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c}?background=true", by: "D", call: "POST /2.0/users/me/connections/{new connection}?background=true", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c} with new values", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asForm, body: `login=ordinary&password=1234`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c} with active", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asJSON, body: `{"active":true}`, status: 200, shapes: "Connection"},
	row{fact: "POST /users/{u}/connections/{c} with members without effect", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asJSON, body: `{"refresh_auth":true,"expire":null,"other":{"a":1}}`, status: 200, shapes: "Connection", says: []string{`"state":null`}},
	row{fact: "POST /users/{u}/connections/{c} with members without effect in a form", by: "D", call: "POST /2.0/users/me/connections/{connection}", as: "user", kind: asForm, body: `refresh_auth=true&expire=`, status: 200, shapes: "Connection", says: []string{`"state":null`}},
	row{fact: "PUT /users/{u}/connections/{c}", by: "RB", call: "PUT /2.0/users/me/connections/{connection}", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connection PYP.Connection SDK.Connection"},
	row{fact: "PUT /users/{u}/connections/{c} with nothing", by: "BART", call: "PUT /2.0/users/me/connections/{connection}", as: "user", status: 200, shapes: "Connection"},
	row{fact: "PUT /users/{u}/connections/{c} while a question waits", by: "RB", call: "PUT /2.0/users/me/connections/{new asking}", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connection"},
	row{fact: "PUT /users/{u}/connections/{c}?psu_requested=false", by: "GRIP", call: "PUT /2.0/users/me/connections/{connection}?psu_requested=false", as: "user", status: 200, shapes: "Connection"},
	row{fact: "PUT /users/{u}/connections", by: "SW", call: "PUT /2.0/users/me/connections", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connections"},
	row{fact: "PUT /users/{u}/connections/{c} for what is new", by: "SW", call: "PUT /2.0/users/me/connections/{connection}?expand=accounts[transactions]&last_update=2026-11-20%2000:00:00", as: "user", status: 200, shapes: "Connection Shared"},
	row{fact: "GET /users/{u}/connections/{c} with subscriptions", by: "D", call: "GET /2.0/users/me/connections/{connection}?expand=subscriptions,all_subscriptions", as: "user", status: 200, shapes: "Connection Subscribed"},
	row{fact: "DELETE /users/{u}/connections/{c}", by: "FORM", call: "DELETE /2.0/users/me/connections/{new connection}", as: "user", status: 204},
	row{fact: "DELETE /users/{u}/connections", by: "SW", call: "DELETE /2.0/users/me/connections", as: "Bearer {new user token}", status: 204},
	row{fact: "GET /users/{u}/connections/{c}/sources", by: "D", call: "GET /2.0/users/me/connections/{connection}/sources?all", as: "user", status: 200, shapes: "ConnectionSources"},
	row{fact: "GET /users/{u}/connections/{c}/sources/{s}", by: "D", call: "GET /2.0/users/me/connections/{connection}/sources/{source}", as: "user", status: 200, shapes: "ConnectionSource"},
	row{fact: "POST /users/{u}/connections/{c}/sources/{s}", by: "D", call: "POST /2.0/users/me/connections/{connection}/sources/{source}", as: "user", kind: asForm, body: `disabled=False`, status: 200, shapes: "ConnectionSource", says: []string{`"disabled":null`}},
	row{fact: "POST /users/{u}/connections/{c}/sources/{s} that disables the only one", by: "D", call: "POST /2.0/users/me/connections/{connection}/sources/{source}", as: "user", kind: asJSON, body: `{"disabled":true}`, status: 409, shapes: "Error", says: []string{`"code":"conflict"`}},
	row{fact: "GET /users/{u}/connections/{c}/logs", by: "PROBE", call: "GET /2.0/users/me/connections/{connection}/logs?limit=10&offset=0&min_date=2026-11-01&max_date=2026-11&id_source={source}", as: "user", status: 200, shapes: "Logs"},
	row{fact: "POST /connections/{c}", by: "D", call: "POST /2.0/connections/{connection}", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Connection"},
	row{fact: "GET /connections/{c}", by: "D", call: "GET /2.0/connections/{connection}", as: "user", status: 200, shapes: "Connection"},
)

// webauthFacts are requests that connect a user on the institution's own page (section 4.4 of the
// fact list).
var webauthFacts = ofSection("4.4",
	row{fact: "GET /webauth-url", by: "PYP", call: "GET /2.0/webauth-url?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&connector_uuid={test connector}&state=a%26b&source=openapi&website=par", as: "user", status: 200, shapes: "WebauthURL", says: []string{`{"url":"{base}/webauth?`}},
	row{fact: "GET /webauth-url by id_connector", by: "D", call: "GET /2.0/webauth-url?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&id_connector=40", as: "user", status: 200, shapes: "WebauthURL"},
	row{fact: "GET /webauth-url of a connection that is up to date", by: "D", call: "GET /2.0/webauth-url?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&id_connection={connection}", as: "user", status: 409, shapes: "Error", says: []string{`"code":"invalidValue"`}},
	row{fact: "GET /webauth-url without redirect_uri", by: "D", call: "GET /2.0/webauth-url?client_id={client}&id_connector=40", as: "user", status: 400, shapes: "Error", says: []string{`"code":"missingParameter"`}},
	row{fact: "GET /webauth", by: "SDK", call: "GET /2.0/webauth?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&connector_uuid={test connector}&source=openapi&state=x&token={new code}", status: 302, leads: "{origin}/sandbox/bank/"},
	row{fact: "GET /webauth with the version twice", by: "FORM", call: "GET /2.0/2.0/webauth?client_id={client}&redirect_uri=https%3A%2F%2Fshop.example%2Fback&connector_uuid={test connector}&source=openapi&state=x&token={new code}", status: 302, leads: "{origin}/sandbox/bank/"},
)

// identityFacts are requests for the owner of a connection (section 4.7 of the fact list).
var identityFacts = ofSection("4.7",
	row{fact: "GET /users/{u}/connections/{c}/owner_identity", by: "D", call: "GET /2.0/users/me/connections/{connection}/owner_identity", as: "user", status: 200, shapes: "OwnerIdentity"},
	row{fact: "GET /users/{u}/connections/{c}/informations", by: "SW", call: "GET /2.0/users/me/connections/{connection}/informations", as: "user", status: 200, shapes: "OwnerIdentity"},
)
