package contract_test

const connectorShapes = `
Connector       id int, uuid uuid, name text, hidden bool?, charged bool, beta bool, restricted bool, code str?, color str?, slug str?, siret str?
                months_to_fetch int?, auth_mechanism (credentials|webauth), available_auth_mechanisms [(credentials|webauth)]+
                capabilities [(bank|bankwealth|transfer|document|profile|contact)], account_types [str], account_usages [(PRIV|ORGA)]
                products [(bank|wealth|bill|pay)], stability Stability, categories [any], available_transfer_mechanisms [str]
                transfer_beneficiary_types [str], transfer_execution_date_types [str], payment_settings? Settings, documents_type? [str]
                countries? [Country], sources? [Source], payment_fields? [PaymentField]
SDK.Connector   id int, uuid uuid, name text, charged bool, beta bool, capabilities [(bank|bankwealth|transfer|document|profile|contact)]
                auth_mechanism (credentials|webauth), restricted bool
PYP.Connector   id int, uuid uuid, name text, charged bool, beta bool, restricted bool
Stability       status (stable|unstable|unavailable), last_update time?
Country         id text, name text
Connectors      connectors [Connector]+, total int
SDK.Connectors  connectors [SDK.Connector]+
PYP.Connectors  connectors [PYP.Connector]+
Top             connectors [Connector], total int
Located         countries [Country]+
Located.List    connectors [Located]+
Paying          payment_fields [PaymentField]+
Source          id int, id_connector int, name (openapi|directaccess|fallback), auth_mechanism (credentials|webauth)
                available_auth_mechanisms [(credentials|webauth)]+, disabled time?, priority int, account_usages [(PRIV|ORGA)], capabilities [str], account_types [str]
Sources         sources [Source]+
Channels        sources [Source]+
PaymentField    name text, type (text|list|password|date|number), label text, required bool, regex str?, values? [Choice]?, auth_mechanisms [str], connector_sources [str]
Asking          fields [SDK.Field]+, urls [url]
SDK.Field       name text, type (text|password|date|list|number), auth_mechanisms [(credentials|webauth)], label text, required bool, regex str?, values [Choice]?, connector_sources [str], description? str?
SDK.Fields      fields [SDK.Field]+
Banks           banks [Connector]+, total int
Providing       providers [Connector]+, total int
ConnectorLogos  connectorlogos [ConnectorLogo]+, total int
ConnectorLogo   id int, id_connector int, id_file int, type (main|thumbnail)
BankCategories  bank_category [BankCategory]
BankCategory    id int, name text
Choice          label str, value str
Settings        available_validate_mechanisms [str]+, beneficiary_types [(iban|sort_code_account_number)]+
                execution_date_types [(first_open_day|deferred|instant|periodic)]+, execution_frequencies [str], maximum_number_of_instructions int
                providing_payer_account (not_used|optional|mandatory), partial_status_tracking [str], is_app_to_app_used Phones
                bank_provides_payer_account bool, bank_provides_payer_label bool, transfer_date_types_where_trusted_beneficiary_required [str]
                cancellation_available bool, minimum_amount Bounds, maximum_amount Bounds, minimum_date_delta_days int, maximum_date_delta_days int?
Phones          android bool, ios bool
Bounds          first_open_day num?, instant num?, deferred num?, periodic num?
JWK             kty (RSA), kid text, n text, e text`

// connectorFacts are requests to the endpoints of connectors (section 3.1 of the fact list).
var connectorFacts = ofSection("3.1",
	row{fact: "GET /connectors", by: "PYP", call: "GET /2.0/connectors", status: 200, shapes: "Connectors SDK.Connectors PYP.Connectors"},
	row{fact: "GET /connectors with a user token", by: "RB", call: "GET /2.0/connectors", as: "user", status: 200, shapes: "Connectors"},
	row{fact: "GET /connectors with a configuration token", by: "RB", call: "GET /2.0/connectors", as: "config", status: 200, shapes: "Connectors"},
	row{fact: "GET /connectors?expand=countries", by: "D", call: "GET /2.0/connectors?expand=countries", status: 200, shapes: "Connectors Located.List"},
	row{fact: "GET /connectors?country_codes=", by: "SDK", call: "GET /2.0/connectors?country_codes=FR", status: 200, shapes: "Connectors"},
	row{fact: "GET /connectors?id_payment=", by: "D", call: "GET /2.0/connectors?id_payment={payment}", as: "service", status: 200, shapes: "Connectors"},
	row{fact: "GET /connectors?top=", by: "D", call: "GET /2.0/connectors?top=5&top_key=payments", status: 200, shapes: "Top"},
	row{fact: "GET /connectors/{uuid}", by: "D", call: "GET /2.0/connectors/{test connector}", status: 200, shapes: "Connector SDK.Connector PYP.Connector"},
	row{fact: "GET /connectors/{id}", by: "SURE", call: "GET /2.0/connectors/40", status: 200, shapes: "Connector"},
	row{fact: "GET /connectors/{uuid} of none", by: "D", call: "GET /2.0/connectors/00000000-0000-0000-0000-000000000000", status: 404, shapes: "Error"},
	row{fact: "GET /connectors/{uuid}?expand=payment_fields", by: "D", call: "GET /2.0/connectors/{test connector}?expand=payment_fields,countries,sources", status: 200, shapes: "Connector Paying Located Channels"},
	row{fact: "GET /connectors/{uuid}?expand=fields", by: "D", call: "GET /2.0/connectors/{test connector}?expand=fields,urls", status: 200, shapes: "Connector Asking"},
	row{fact: "GET /connectors/{id}/fields", by: "D", call: "GET /2.0/connectors/40/fields", status: 200, shapes: "SDK.Fields"},
	row{fact: "GET /connectors/{uuid}/sources/{sid}", by: "D", call: "GET /2.0/connectors/{test connector}/sources/401", status: 200, shapes: "Source"},
	row{fact: "GET /banks", by: "OLD", call: "GET /2.0/banks", status: 200, shapes: "Banks"},
	row{fact: "GET /banks/{id}", by: "OLD", call: "GET /2.0/banks/40", status: 200, shapes: "Connector"},
	row{fact: "GET /banks/categories", by: "BART", call: "GET /2.0/banks/categories", status: 200, shapes: "BankCategories"},
	row{fact: "GET /providers", by: "OLD", call: "GET /2.0/providers", status: 200, shapes: "Providing"},
	row{fact: "GET /providers/{id}", by: "OLD", call: "GET /2.0/providers/64", status: 200, shapes: "Connector"},
	row{fact: "PUT /connectors/{uuid}", by: "D", call: "PUT /2.0/connectors/{test connector}", as: "config", kind: asJSON, body: `{"hidden":false,"sync_periodicity":1}`, status: 200, shapes: "Connector", says: []string{`"sync_periodicity":1`}},
	row{fact: "POST /connectors/{id} in a form", by: "SW", call: "POST /2.0/connectors/40", as: "config", kind: asForm, body: `auth_mechanism=credentials&id_categories=1&sync_frequency=1`, status: 200, shapes: "Connector", says: []string{`"auth_mechanism":"credentials"`}},
	row{fact: "PUT /connectors/{uuid} with null", by: "D", call: "PUT /2.0/connectors/{test connector}", as: "config", kind: asJSON, body: `{"hidden":null,"auth_mechanism":null,"sync_periodicity":null}`, status: 200, shapes: "Connector", says: []string{`"sync_periodicity":null`}},
	row{fact: "PUT /connectors/{id1,id2}", by: "SDK", call: "PUT /2.0/connectors/40,64", as: "config", kind: asJSON, body: `{"hidden":false}`, status: 200, shapes: "Connectors"},
	row{fact: "PATCH /connectors", by: "SDK, PYP", call: "PATCH /2.0/connectors", as: "config", kind: asJSON, body: `{"{test connector}":{"hidden":false},"{provider connector}":{"hidden":null}}`, status: 200, shapes: "Connectors PYP.Connectors"},
	row{fact: "PUT /connectors/{uuid}/sources/{sid}", by: "D", call: "PUT /2.0/connectors/{test connector}/sources/401", as: "config", kind: asJSON, body: `{"auth_mechanism":"webauth","disabled":false}`, status: 200, shapes: "Source"},
	row{fact: "PUT /connectors/{uuid} with a user token", by: "D", call: "PUT /2.0/connectors/{test connector}", as: "user", kind: asJSON, body: `{"hidden":true}`, status: 403, shapes: "Error"},
	row{fact: "GET /connectors/{id}/logos", by: "SW", call: "GET /2.0/connectors/40/logos", status: 200, shapes: "ConnectorLogos"},
	row{fact: "GET /connectors/{id}/logos/main", by: "SW", call: "GET /2.0/connectors/{test connector}/logos/main", status: 200, shapes: "ConnectorLogos", says: []string{`"total":1`}},
	row{fact: "GET /connectors/{id}/logos/thumbnail", by: "SW", call: "GET /2.0/connectors/40/logos/thumbnail", as: "user", status: 200, shapes: "ConnectorLogos", says: []string{`"total":1`}},
	row{fact: "GET /banks/{id}/logos", by: "OLD", call: "GET /2.0/banks/40/logos", status: 200, shapes: "ConnectorLogos"},
	row{fact: "GET /providers/{id}/logos", by: "OLD", call: "GET /2.0/providers/64/logos", status: 200, shapes: "ConnectorLogos"},
	row{fact: "GET /files/{id_file}", by: "SW", call: "GET /2.0/files/{logo file}", status: 200, gives: "image/png"},
	row{fact: "GET /connectors/{uuid}/sources", by: "D", call: "GET /2.0/connectors/{test connector}/sources", status: 200, shapes: "Sources"},
)

// fieldKeyFacts are requests for the key that encrypts the values of fields (section 11.5 of the
// fact list).
var fieldKeyFacts = ofSection("11.5",
	row{fact: "GET /publickey", by: "D", call: "GET /2.0/publickey", status: 200, shapes: "JWK"},
	row{fact: "GET /publickey with a user token", by: "D", call: "GET /2.0/publickey", as: "user", status: 200, shapes: "JWK"},
)
