package contract_test

const configurationShapes = `
ConfigLog       id int, key text, previous_value str?, new_value str?, type (add|update|delete), timestamp time
ConfigLogs      configlogs [ConfigLog]+, total int
Provider        id int, type text, name text
Providers       authproviders [Provider]+, total int
Secret          id int, type (hmac_signature), name text, config Key
Key             secret_key text
Webhook         id int, created time, updated time?, deleted time?, id_service int?, id_user int?, id_event int, id_auth int?, url url, add_to_data any, health_data any, warning str?
Webhooks        webhooks [Webhook], total int
WebhookLogs     webhooklogs [obj], total int`

// configurationFacts are requests that read and change the configuration (section 10 of the fact
// list).
var configurationFacts = ofSection("10",
	row{fact: "GET /config", by: "D", call: "GET /2.0/config", as: "config", status: 200, shapes: "Config", says: quoted(
		"autosync.enabled autosync.frequency connection.expire connection.questions_code auth.default_token_expire auth.user_token_expire webhooks.alerts_frequency payment.max_amount payment.manual_expire_time_days")},
	row{fact: "the names of the keys", by: "D, CFG", call: "GET /2.0/config", as: "config", status: 200, shapes: "Config", says: quoted(
		`autosync.enabled autosync.frequency autosync.retry_wrongpass autosync.cfonb autosync.send_update svc.manager.email biapi.callback_url biapi.multi_push connectors.default_auth_mechanism connectors.enable_new
		connectors.sources.enable_new connection.disable_new connection.expire connection.questions_code connection.delete_noacc connection.keep_success connection.delay_error connection.allow_new_error
		connection.error.to_wrongpass auth.default_token_expire auth.scoped_token_expire auth.user_token_expire auth.token_size auth.block_count auth.block_seconds bank.account.authorized_currencies bank.account.display_loans
		bank.implicit_date_filtering bank.trs.ignore_coming oauth2.enabled webhooks.alerts_frequency webhooks.compression.enabled webhooks.ca_cert payment.max_amount payment.auto_confirmation payment.manual_expire_time_days
		payment.state_updated_webhook.systematic transfer.max_amount transfer.max_period_amount transfer.max_period_days transfer.recipient.iban_white_list.enabled transfer.recipient.iban_white_list.entries rate.enabled root.baseurl root.prefix`)},
	row{fact: "keys of families", by: "CFG", call: "POST /2.0/config?search=cat.", as: "config", kind: asJSON, body: `{"cat.enabled":"1"}`, status: 200, shapes: "Config", says: []string{`"cat.enabled":"1"`}},
	row{fact: "a key that is none", by: "decisions.md", call: "POST /2.0/config", as: "config", kind: asJSON, body: `{"nobody.knows":"1"}`, status: 400, shapes: "Error", says: []string{`"invalidValue"`}},
	row{fact: "GET /config with a user token", by: "D", call: "GET /2.0/config", as: "user", status: 403, shapes: "Error"},
	row{fact: "POST /config", by: "D", call: "POST /2.0/config", as: "config", kind: asJSON, body: `{"payment.max_amount":"0"}`, status: 200, shapes: "Config"},
	row{fact: "POST /config in a form", by: "SW", call: "POST /2.0/config?search=autosync", as: "config", kind: asForm, body: `autosync.frequency=1`, status: 200, shapes: "Config", says: []string{`"autosync.frequency":"1"`}},
	row{fact: "POST /config with search in the body", by: "CASH", call: "POST /2.0/config", as: "config", kind: asJSON, body: `{"autosync.frequency":"1","search":"autosync.f"}`, status: 200, shapes: "Config", says: []string{`{"autosync.frequency":"1"}`}},
	row{fact: "POST /config under another name", by: "CFG", call: "POST /2.0/config?search=manager", as: "config", kind: asJSON, body: `{"biapi.manager.email":"ops@shop.example"}`, status: 200, shapes: "Config", says: []string{`"ops@shop.example"`}},
	row{fact: "POST /config with the key of compression as documented elsewhere", by: "D", call: "POST /2.0/config", as: "config", kind: asJSON, body: `{"webhooks.compressions.enabled":"0"}`, status: 200, shapes: "Config"},
	row{fact: "GET /config?search=", by: "D", call: "GET /2.0/config?search=payment", as: "config", status: 200, shapes: "Config", says: []string{`"payment.max_amount":"0"`}},
	row{fact: "GET /config/logs", by: "SW", call: "GET /2.0/config/logs?min_date=2026-01-01&search=biapi.manager&type=add", as: "config", status: 200, shapes: "ConfigLogs"},
)

// webhookFacts are requests that manage webhooks (section 9.4 of the fact list).
var webhookFacts = ofSection("9.4",
	row{fact: "POST /webhooks/auth in the query, without version", by: "FORM", call: "POST /webhooks/auth?type=hmac_signature&name=formanceabcde", as: "config", kind: asJSON, status: 200, shapes: "Provider Secret"},
	row{fact: "GET /webhooks/auth, without version", by: "FORM", call: "GET /webhooks/auth?limit=100", as: "config", status: 200, shapes: "Providers"},
	row{fact: "POST /webhooks/auth with a long name with dashes", by: "FORM", call: "POST /2.0/webhooks/auth", as: "config", kind: asJSON, body: `{"type":"hmac_signature","name":"0123456789-0123456789-0123456789-abcdefg"}`, status: 200, shapes: "Provider Secret"},
	row{fact: "GET /webhooks_events", by: "SW", call: "GET /2.0/webhooks_events", as: "user", status: 200, shapes: "Config"},
	row{fact: "POST /webhooks", by: "SW", call: "POST /2.0/webhooks", as: "config", kind: asForm, body: `event=CONNECTION_SYNCED&url=https%3A%2F%2Fclient.example%2Fhook&id_auth=formanceabcde`, status: 200, shapes: "Webhook"},
	row{fact: "GET /webhooks", by: "SW", call: "GET /2.0/webhooks?expand=webhook_event", as: "config", status: 200, shapes: "Webhooks"},
	row{fact: "POST /test/webhooks", by: "SW", call: "POST /2.0/test/webhooks", as: "config", kind: asJSON, status: 200, shapes: "Config"},
	row{fact: "DELETE /webhooks", by: "SW", call: "DELETE /2.0/webhooks", as: "config", status: 204},
)
