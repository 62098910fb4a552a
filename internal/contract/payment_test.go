package contract_test

// paymentFacts are requests that check the form of a payment (section 8 of the fact list).
var paymentFacts = ofSection("8",
	row{fact: "POST /payments", by: "D", call: "POST /2.0/payments", as: "service", kind: asJSON, body: `{"connector_uuid":"{test connector}","client_redirect_uri":"https://shop.example/back","instructions":[{"label":"Invoice","amount":"1","currency":"EUR","execution_date_type":"instant","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"Shop"}}],"uuid":"x","use_case_pay":"legacy","validation_mechanism":"webauth"}`, status: 200, shapes: "Payment"},
	row{fact: "GET /payments/{id}", by: "D", call: "GET /2.0/payments/{payment}", as: "service", status: 200, shapes: "Payment"},
	row{fact: "GET /payments", by: "D", call: "GET /2.0/payments?limit=10&offset=0", as: "service", status: 200, shapes: "PaymentList"},
	row{fact: "GET /payments/{id}/incompatibilities", by: "D", call: "GET /2.0/payments/{payment}/incompatibilities?all=true", as: "service", status: 200, shapes: "[Incompatible]"},
	row{fact: "GET /terms", by: "D", call: "GET /2.0/terms", status: 200, shapes: "Terms"},
	row{fact: "GET /payments/{id}/terms, not accepted", by: "D", call: "GET /2.0/payments/{payment}/terms", as: "service", status: 200, shapes: "ToSign"},
	row{fact: "POST /payments/{id}/terms", by: "D", call: "POST /2.0/payments/{payment}/terms", as: "service", kind: asJSON, body: `{"id_terms":1}`, status: 200, shapes: "Success"},
	row{fact: "GET /payments/{id}/terms, accepted", by: "D", call: "GET /2.0/payments/{payment}/terms", as: "service", status: 200, shapes: "Accepted"},
)

const paymentShapes = `
PaymentList     payments [Payment]+, total int
Incompatible    type (incompatible|warning), reasons [Reason]+, connector_uuid uuid, id_connector int
Reason          code text, type (incompatible|warning), description text
ToSign          to_sign (true)
Success         success (ok)
Accepted        exactly id int, version text, created time, deleted time?, id_file int?`
