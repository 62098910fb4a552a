package contract_test

const authenticationShapes = `
Init        auth_token text, type (permanent), id_user int, expires_in null
Guest       auth_token text, type (temporary), id_user int, expires_in int
FORM.Init   auth_token text, id_user int
Code        code text, type (temporary), access (single|standard), expires_in int
Access      exactly access_token text, token_type (Bearer)
Service     exactly token text, scope text
Signed      jwt_token text, payload Payload
Payload     id_user int, aud any, iss text, iat int, exp? int, scope str?, type (sharedAccess)
Scoped      token text, scope (payments:validate), id_payment int, expires_in int
Client      id int, name str, public_key str?, redirect_uris [str], redirect_uri str?, pro bool, id_logo int?, config {any}
            primary_color str?, secondary_color str?, description str?, description_banks str?, description_providers str?
Clients     clients [Client]+, total int
Created     id int, name str, secret text
BART.Client redirect_uris [str]
Logo        id int`

// headerFacts are requests with each form of the header Authorization (section 1.1 of the fact
// list).
var headerFacts = ofSection("1.1",
	row{fact: "Bearer", by: "D", call: "GET /2.0/users/me", as: "Bearer {user token}", status: 200, shapes: "User"},
	row{fact: "the scheme in small letters", by: "OLD", call: "GET /2.0/users/me", as: "bearer {user token}", status: 200, shapes: "User"},
	row{fact: "OAuth", by: "OLD", call: "GET /2.0/users/me", as: "OAuth {user token}", status: 200, shapes: "User"},
	row{fact: "the token in the address", by: "OLD", call: "GET /2.0/users/me/transactions?limit=2&token={user token}", status: 200, shapes: "Transactions", says: []string{`"self":{"href":"{base}/users/me/transactions?limit=2"}`}},
	row{fact: "the token in the address of what needs none", by: "OLD", call: "GET /2.0/connectors?limit=2&token={user token}", status: 200, shapes: "Connectors", says: []string{`"self":{"href":"{base}/connectors?limit=2"}`}},
	row{fact: "the token in the address of what is written", by: "OLD", call: "POST /2.0/users/me/config?token={user token}", kind: asJSON, body: `{"a":"b"}`, status: 401, shapes: "Error"},
	row{fact: "no header", by: "interface.md", call: "GET /2.0/users/me", status: 401, shapes: "Error", says: []string{`"invalidToken"`}},
	row{fact: "a token nobody issued", by: "BART", call: "GET /2.0/users/me", as: "Bearer nobody", status: 401, shapes: "Error", says: []string{`"invalidToken"`}},
	row{fact: "a kind of token that is of no use", by: "interface.md", call: "GET /2.0/users/me", as: "service", status: 403, shapes: "Error", says: []string{`"forbidden"`}},
)

// tokenFacts are requests with several kinds of tokens (section 1.2 of the fact list).
var tokenFacts = ofSection("1.2",
	row{fact: "user token, temporary", by: "D", call: "GET /2.0/users/me", as: "temporary", status: 200, shapes: "User"},
	row{fact: "temporary code where a token is wanted", by: "D", call: "GET /2.0/users/me", as: "Bearer {new code}", status: 403, shapes: "Error"},
	row{fact: "service token", by: "D", call: "GET /2.0/payments", as: "service", status: 200, shapes: "Payments"},
	row{fact: "configuration token", by: "D", call: "GET /2.0/config", as: "config", status: 200, shapes: "Config"},
	row{fact: "users token", by: "D", call: "GET /2.0/users", as: "users", status: 200, shapes: "Users"},
)

// authenticationFacts are requests to the endpoints of authentication (section 1.3 of the fact
// list).
var authenticationFacts = ofSection("1.3",
	row{fact: "POST /auth/init", by: "D", call: "POST /2.0/auth/init", status: 200, shapes: "Guest FORM.Init"},
	row{fact: "POST /auth/init with an empty JSON body", by: "JB", call: "POST /2.0/auth/init", kind: asJSON, status: 200, shapes: "Guest FORM.Init"},
	row{fact: "POST /auth/init with {}", by: "JOUL", call: "POST /2.0/auth/init", kind: asJSON, body: `{}`, status: 200, shapes: "Guest"},
	row{fact: "POST /auth/init with the client id alone", by: "D", call: "POST /2.0/auth/init", kind: asJSON, body: `{"client_id":"{client}"}`, status: 200, shapes: "Guest"},
	row{fact: "POST /auth/init with credentials", by: "FORM", call: "POST /2.0/auth/init", kind: asJSON, body: `{"client_id":"{client}","client_secret":"{secret}"}`, status: 200, shapes: "Init FORM.Init"},
	row{fact: "POST /auth/init with a number as client id", by: "PYP", call: "POST /2.0/auth/init", kind: asJSON, body: `{"client_id":{client},"client_secret":"{secret}"}`, status: 200, shapes: "Init"},
	row{fact: "POST /auth/init in a form", by: "SW", call: "POST /2.0/auth/init", kind: asForm, body: `client_id={client}&client_secret={secret}`, status: 200, shapes: "Init"},
	row{fact: "POST /auth/init, Basic", by: "PYX", call: "POST /2.0/auth/init", as: "basic", status: 200, shapes: "Init"},
	row{fact: "POST /auth/init, Basic with a colon behind the secret", by: "OLD", call: "POST /2.0/auth/init", as: "Basic {basic colon}", status: 200, shapes: "Init"},
	row{fact: "POST /auth/init with a configuration token", by: "D", call: "POST /2.0/auth/init", as: "config", status: 200, shapes: "Init"},
	row{fact: "POST /auth/init with a wrong secret", by: "SURE", call: "POST /2.0/auth/init", kind: asJSON, body: `{"client_id":"{client}","client_secret":"wrong"}`, status: 401, shapes: "Error"},

	row{fact: "GET /auth/token/code", by: "D", call: "GET /2.0/auth/token/code", as: "user", status: 200, shapes: "Code", says: []string{`"access":"standard"`}},
	row{fact: "GET /auth/token/code?type=singleAccess", by: "FORM", call: "GET /2.0/auth/token/code?type=singleAccess", as: "user", status: 200, shapes: "Code", says: []string{`"access":"single"`, `"expires_in":1800`}},
	row{fact: "POST /auth/token/code", by: "IKCP", call: "POST /2.0/auth/token/code", as: "user", kind: asJSON, body: `{}`, status: 200, shapes: "Code"},

	row{fact: "POST /auth/token/access", by: "D", call: "POST /2.0/auth/token/access", kind: asJSON, body: `{"client_id":"{client}","client_secret":"{secret}","code":"{new code}","grant_type":"authorization_code"}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/token/access in a form with Basic", by: "OLD", call: "POST /2.0/auth/token/access", as: "Basic {basic colon}", kind: asForm, body: `code={new code}&grant_type=authorization_code`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/token/access with redirect_uri", by: "OLD", call: "POST /2.0/auth/token/access", kind: asForm, body: `client_id={client}&client_secret={secret}&code={new code}&redirect_uri=https%3A%2F%2Fshop.example%2Fback`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/token/access with the temporary token as code", by: "D", call: "POST /2.0/auth/token/access", kind: asJSON, body: `{"client_id":{client},"client_secret":"{secret}","code":"{new temporary token}"}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/token/access with the temporary token as bearer", by: "RB", call: "POST /2.0/auth/token/access", as: "Bearer {new temporary token}", kind: asJSON, body: `{"client_id":"{client}","client_secret":"{secret}"}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/token/access with a code nobody issued", by: "D", call: "POST /2.0/auth/token/access", kind: asJSON, body: `{"client_id":"{client}","client_secret":"{secret}","code":"nobody"}`, status: 401, shapes: "Error"},

	row{fact: "POST /auth/renew", by: "PYP", call: "POST /2.0/auth/renew", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}","id_user":{new user},"revoke_previous":false}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/renew without grant_type", by: "PROBE", call: "POST /2.0/auth/renew", kind: asJSON, body: `{"client_id":{client},"client_secret":"{secret}","id_user":"{new user}"}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/renew without user", by: "D", call: "POST /2.0/auth/renew", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}"}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/renew that revokes", by: "RB", call: "POST /2.0/auth/renew", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}","id_user":{new user},"revoke_previous":true}`, status: 200, shapes: "Access"},
	row{fact: "POST /auth/renew in a form", by: "BART", call: "POST /2.0/auth/renew", kind: asForm, body: `grant_type=client_credentials&client_id={client}&client_secret={secret}&id_user={new user}&revoke_previous=False`, status: 200, shapes: "Access"},

	row{fact: "POST /auth/token", by: "D", call: "POST /2.0/auth/token", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}","scope":"payments:admin"}`, status: 200, shapes: "Service", says: []string{`"scope":"payments:admin"`}},
	row{fact: "POST /auth/token with a number as client id", by: "KAIN", call: "POST /2.0/auth/token", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":{client},"client_secret":"{secret}","scope":"payments:admin"}`, status: 200, shapes: "Service"},
	row{fact: "POST /auth/token with scopes in an array", by: "SDK", call: "POST /2.0/auth/token", kind: asJSON, body: `{"grant_type":"client_credentials","client_id":"{client}","client_secret":"{secret}","scope":["payments:read-only","payments:validate"]}`, status: 200, shapes: "Service", says: []string{`"scope":"payments:read-only payments:validate"`}},
	row{fact: "DELETE /auth/token", by: "D", call: "DELETE /2.0/auth/token", as: "Bearer {new user token}", status: 204},

	row{fact: "POST /auth/jwt", by: "SW", call: "POST /2.0/auth/jwt", kind: asJSON, body: `{"client_id":"{signer}","client_secret":"{signer secret}","id_user":{new user},"expire":true}`, status: 200, shapes: "Signed"},
	row{fact: "POST /auth/jwt in a form", by: "SW", call: "POST /2.0/auth/jwt", kind: asForm, body: `client_id={signer}&client_secret={signer secret}&expire=0`, status: 200, shapes: "Signed"},

	row{fact: "POST /payments/{id}/scopedtoken", by: "D", call: "POST /2.0/payments/{payment}/scopedtoken", as: "validating", kind: asJSON, body: `{"scope":"payments:validate"}`, status: 200, shapes: "Scoped", says: []string{`"expires_in":604800`}},
	row{fact: "POST /payments/{id}/scopedtoken with an array", by: "D", call: "POST /2.0/payments/{payment}/scopedtoken", as: "service", kind: asJSON, body: `{"scope":["payments:validate"]}`, status: 200, shapes: "Scoped"},
	row{fact: "POST /payments/{id}/scopedtoken for payments:admin", by: "D", call: "POST /2.0/payments/{payment}/scopedtoken", as: "service", kind: asJSON, body: `{"scope":"payments:admin"}`, status: 400, shapes: "Error"},
)

// clientFacts are requests that manage applications (section 1.4 of the fact list).
var clientFacts = ofSection("1.4",
	row{fact: "POST /clients", by: "SW", call: "POST /2.0/clients", as: "config", kind: asForm, body: `name=one&redirect_uris=https%3A%2F%2Fshop.example%2Fback&generate_keys=true&pro=0&primary_color=885500&description=Shop`, status: 200, shapes: "Client Created"},
	row{fact: "POST /clients, JSON", by: "CASH", call: "POST /2.0/clients", as: "config", kind: asJSON, body: `{"name":"two","redirect_uris":["https://shop.example/back"],"config":{"a":"b"}}`, status: 200, shapes: "Client Created"},
	row{fact: "GET /clients", by: "SW", call: "GET /2.0/clients", as: "config", status: 200, shapes: "Clients"},
	row{fact: "GET /clients/{id}", by: "SW", call: "GET /2.0/clients/{client}", as: "config", status: 200, shapes: "Client"},
	row{fact: "GET /clients/{id} with a user token", by: "BART", call: "GET /2.0/clients/{client}", as: "user", status: 200, shapes: "Client BART.Client"},
	row{fact: "PUT /clients/{id}", by: "SW", call: "PUT /2.0/clients/{signer}", as: "config", kind: asForm, body: `secondary_color=0088ff&description_banks=Banks`, status: 200, shapes: "Client"},
	row{fact: "POST /clients/{id}", by: "SW", call: "POST /2.0/clients/{signer}", as: "config", kind: asJSON, body: `{"pro":true,"config":{"a":"b"},"update_config":true,"redirect_uris":["https://shop.example/back"]}`, status: 200, shapes: "Client", says: []string{`"a":"b"`}},
	row{fact: "PUT /clients/{id} with one address", by: "CASH", call: "PUT /2.0/clients/{signer}", as: "config", kind: asForm, body: `redirect_uri=https%3A%2F%2Fshop.example%2Fback`, status: 200, shapes: "Client", says: []string{`"redirect_uris":["https://shop.example/back"],"redirect_uri":"https://shop.example/back"`}},
	row{fact: "PUT /clients/{id} with addresses that differ", by: "CASH", call: "PUT /2.0/clients/{signer}", as: "config", kind: asJSON, body: `{"redirect_uri":"https://shop.example/other","redirect_uris":["https://shop.example/back"]}`, status: 400, shapes: "Error", says: []string{"redirect_uri: must be one of redirect_uris"}},
	row{fact: "PUT /clients/{id} for a new secret", by: "CASH", call: "PUT /2.0/clients/{new signer}", as: "config", kind: asForm, body: `secret=1`, status: 200, shapes: "Client Created"},
	row{fact: "POST /clients/{id}/logo", by: "SW", call: "POST /2.0/clients/{signer}/logo", as: "config", kind: asJSON, body: `{"logo":"{picture}"}`, status: 200, shapes: "Logo"},
	row{fact: "DELETE /clients/{id}/logo", by: "SW", call: "DELETE /2.0/clients/{signer}/logo", as: "config", status: 204},
	row{fact: "DELETE /clients/{id}", by: "SW", call: "DELETE /2.0/clients/{new signer}", as: "config", status: 204},
)
