package contract_test

const subscriptionShapes = `
Subscription    id int, id_connection int?, id_user int?, id_source int?, number str?, label text, subscriber str?, validity date?, renewdate date?, last_update time?
                deleted time?, disabled time?, error str?, connection? Connection
Subscriptions   subscriptions [Subscription]+, total int
Connected       connection Connection
Document        id int, id_user int, id_subscription int?, id_type int?, id_category int?, id_file int?, id_thumbnail int?, name text, date date?, timestamp time, thumb_url url?, url url?
                duedate date?, total_amount num?, untaxed_amount num?, vat num?, income bool, readonly bool, number str?, issuer str?, last_update time?
                has_file_on_website bool, currency str?, type? DocumentType
Typed           type DocumentType
Documented      documents [Document]+
Documents       documents [Document]+, first_date date?, last_date date?, total int
DocumentType    id int, name text, attacheable bool
DocumentTypes   documenttypes [DocumentType]+, total int`

// subscriptionFacts are requests for subscriptions and documents (section 7 of the fact list).
var subscriptionFacts = ofSection("7",
	row{fact: "GET /users/{u}/subscriptions", by: "interface.md", call: "GET /2.0/users/me/subscriptions", as: "user", status: 200, shapes: "Subscriptions"},
	row{fact: "GET /users/{u}/subscriptions?all", by: "PROBE", call: "GET /2.0/users/{user}/subscriptions?all", as: "user", status: 200, shapes: "Subscriptions"},
	row{fact: "GET /users/{u}/connections/{c}/subscriptions", by: "interface.md", call: "GET /2.0/users/me/connections/{connection}/subscriptions?all", as: "user", status: 200, shapes: "Subscriptions"},
	row{fact: "GET /users/{u}/subscriptions/{s}", by: "interface.md", call: "GET /2.0/users/me/subscriptions/{subscription}?expand=connection", as: "user", status: 200, shapes: "Subscription Connected"},
	row{fact: "GET /users/{u}/connections/{c}/subscriptions/{s}", by: "interface.md", call: "GET /2.0/users/me/connections/{connection}/subscriptions/{subscription}?all", as: "user", status: 200, shapes: "Subscription"},
	row{fact: "POST /users/{u}/subscriptions/{s}?all", by: "interface.md", call: "POST /2.0/users/me/subscriptions/{subscription}?all", as: "user", kind: asJSON, body: `{"disabled":false}`, status: 200, shapes: "Subscription", says: []string{`"disabled":null`}},
	row{fact: "PUT /users/{u}/subscriptions/{s}?all in a form", by: "SW", call: "PUT /2.0/users/me/subscriptions/{subscription}?all", as: "user", kind: asForm, body: `disabled=0`, status: 200, shapes: "Subscription"},
	row{fact: "GET /users/{u}/documents", by: "D", call: "GET /2.0/users/me/documents?limit=100&offset=0", as: "user", status: 200, shapes: "Documents"},
	row{fact: "GET /users/{u}/documents without limit", by: "SYMF", call: "GET /2.0/users/me/documents", as: "user", status: 200, shapes: "Documents"},
	row{fact: "GET /users/{u}/documents with bounds", by: "SW", call: "GET /2.0/users/me/documents?limit=10&min_amount=0&max_amount=10000&min_date=2020&max_date=2026-11&id_type=4", as: "user", status: 200, shapes: "Documents"},
	row{fact: "GET /users/{u}/documents?expand=type", by: "D", call: "GET /2.0/users/me/documents/{document}?expand=type", as: "user", status: 200, shapes: "Document Typed"},
	row{fact: "GET /users/{u}/subscriptions/{s}/documents", by: "D", call: "GET /2.0/users/me/subscriptions/{subscription}/documents?limit=10", as: "user", status: 200, shapes: "Documents"},
	row{fact: "GET /users/{u}/connections/{c}/documents", by: "D", call: "GET /2.0/users/me/connections/{connection}/documents?limit=10", as: "user", status: 200, shapes: "Documents"},
	row{fact: "GET /users/{u}/documents/{d}", by: "RB", call: "GET /2.0/users/me/documents/{document}", as: "user", status: 200, shapes: "Document"},
	row{fact: "GET /users/{u}/documents/{d}/file", by: "RB", call: "GET /2.0/users/me/documents/{document}/file", as: "user", status: 200, gives: "application/pdf"},
	row{fact: "GET /users/{u}/documents/{d}/file/{name}", by: "SYMF", call: "GET /2.0/users/me/documents/{document}/file/bill.pdf", as: "user", status: 200, gives: "application/pdf"},
	row{fact: "POST /users/{u}/documents/{d}", by: "SW", call: "POST /2.0/users/me/documents/{document}", as: "user", kind: asJSON, body: `{"id_type":4,"id_category":7,"name":"Mine","date":"2026-11-01","duedate":"2026-11-30","total_amount":12.5,"untaxed_amount":"10.4","vat":2.1,"income":false,"readonly":true}`, status: 200, shapes: "Document", says: []string{`"name":"Mine"`, `"readonly":true`}},
	row{fact: "PUT /users/{u}/documents/{d} that is read-only", by: "SW", call: "PUT /2.0/users/me/documents/{document}", as: "user", kind: asForm, body: `name=Yours`, status: 409, shapes: "Error"},
	row{fact: "PUT /users/{u}/documents/{d} with a file", by: "SW", call: "PUT /2.0/users/me/documents/{document}", as: "user", kind: asMultipart, body: `readonly=false&file={picture}`, status: 200, shapes: "Document", says: []string{`"readonly":false`}},
	row{fact: "the file that was given", by: "SW", call: "GET /2.0/users/me/documents/{document}/file", as: "user", status: 200, gives: "image/png"},
	row{fact: "GET /users/{u}/documents/{d}/thumbnail/{name}", by: "SYMF", call: "GET /2.0/users/me/documents/{document}/thumbnail/12.png", as: "user", status: 200, gives: "image/png"},
	row{fact: "GET /users/{u}/documents with timestamps", by: "SW", call: "GET /2.0/users/me/documents?limit=10&min_timestamp=2020-01-01%2000:00:00&max_timestamp=2026-11-30", as: "user", status: 200, shapes: "Documents"},
	row{fact: "PUT /users/{u}/transactions/{t}/documents", by: "SW", call: "PUT /2.0/users/me/transactions/{transaction}/documents", as: "user", kind: asForm, body: `id_document={document}`, status: 200, shapes: "Document"},
	row{fact: "GET /users/{u}/transactions/{t}/documents", by: "D", call: "GET /2.0/users/me/transactions/{transaction}/documents?limit=10", as: "user", status: 200, shapes: "Documents", says: []string{`"total":1`}},
	row{fact: "GET /users/{u}/transactions/{t}?expand=documents", by: "SW", call: "GET /2.0/users/me/transactions/{transaction}?expand=documents", as: "user", status: 200, shapes: "Transaction Documented", says: []string{`"documents_count":1`}},
	row{fact: "DELETE /users/{u}/transactions/{t}/documents/{d}", by: "SW", call: "DELETE /2.0/users/me/transactions/{transaction}/documents/{document}", as: "user", status: 204},
	row{fact: "PUT /documenttypes/{id}", by: "SW", call: "PUT /2.0/documenttypes/4", as: "config", kind: asForm, body: `name=bill&attacheable=1`, status: 200, shapes: "DocumentType", says: []string{`"attacheable":true`}},
	row{fact: "PUT /users/{u}/subscriptions/{s1,s2}?all", by: "SW", call: "PUT /2.0/users/me/subscriptions/{subscriptions}?all", as: "user", kind: asForm, body: `disabled=0`, status: 200, shapes: "Subscriptions"},
	row{fact: "GET /documenttypes", by: "D", call: "GET /2.0/documenttypes", status: 200, shapes: "DocumentTypes"},
	row{fact: "the names of the types of documents", by: "D", call: "GET /2.0/documenttypes", status: 200, shapes: "DocumentTypes", says: quoted(
		"zimage pdf odt bill RIB statement contract notice report other income_tax kiid certificate identity payslip exchange_statement bill_debit_advice")},
)
