column asset.id bigint NOT NULL IDENTITY
column asset.domain_id bigint NOT NULL {n_distinct=100}
column asset.user_id bigint NOT NULL
column asset.account_id bigint NOT NULL
column asset.epoch bigint NOT NULL
column asset.kind text NOT NULL
column asset.key text NOT NULL
column asset.parent_key text
column asset.date text
column asset.details text NOT NULL
column asset.digest bigint NOT NULL
column asset.previous text
column asset.created bigint NOT NULL
column asset.last_update bigint NOT NULL
column asset.deleted bigint
column asset.changed bigint NOT NULL
constraint asset.asset_account_id_epoch_key_key UNIQUE (account_id, epoch, key)
constraint asset.asset_kind_check CHECK ((kind = ANY (ARRAY['investment'::text, 'market_order'::text, 'pocket'::text, 'amortization'::text])))
constraint asset.asset_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX asset_account_id_epoch_key_key ON asset USING btree (account_id, epoch, key)
CREATE INDEX asset_of_account ON asset USING btree (account_id, epoch, kind, id)
CREATE INDEX asset_of_user ON asset USING btree (domain_id, user_id, kind, id)
CREATE UNIQUE INDEX asset_pkey ON asset USING btree (id)
column attachment.id bigint NOT NULL IDENTITY
column attachment.domain_id bigint NOT NULL {n_distinct=100}
column attachment.user_id bigint NOT NULL
column attachment.account_id bigint NOT NULL
column attachment.epoch bigint NOT NULL
column attachment.transaction_id bigint NOT NULL
column attachment.key text NOT NULL
column attachment.name text NOT NULL
column attachment.description text NOT NULL
column attachment.file_id bigint NOT NULL
column attachment.created bigint NOT NULL
column attachment.last_update bigint NOT NULL
column attachment.changed bigint NOT NULL
constraint attachment.attachment_file_id_fkey FOREIGN KEY (file_id) REFERENCES stored_file(id)
constraint attachment.attachment_pkey PRIMARY KEY (id)
constraint attachment.attachment_transaction_id_key_key UNIQUE (transaction_id, key)
CREATE INDEX attachment_changed ON attachment USING btree (account_id, epoch, changed, transaction_id)
CREATE INDEX attachment_of_file ON attachment USING btree (file_id)
CREATE UNIQUE INDEX attachment_pkey ON attachment USING btree (id)
CREATE UNIQUE INDEX attachment_transaction_id_key_key ON attachment USING btree (transaction_id, key)
column attempt.id bigint NOT NULL IDENTITY
column attempt.payment_id bigint NOT NULL
column attempt.domain_id bigint NOT NULL {n_distinct=100}
column attempt.number bigint NOT NULL
column attempt.kind text NOT NULL
column attempt.key text
column attempt.connector_uuid text
column attempt.mechanism text
column attempt.fields bytea
column attempt.waits boolean
column attempt.action text
column attempt.actor text
column attempt.agreed boolean
column attempt.state text NOT NULL
column attempt.created bigint NOT NULL
column attempt.asked bigint NOT NULL DEFAULT 0
column attempt.lease_until bigint NOT NULL
column attempt.memory bytea
column attempt.device bytea
column attempt.trace text
column attempt.sent bigint
column attempt.callback bytea
column attempt.unsent boolean NOT NULL DEFAULT false
constraint attempt.attempt_check CHECK (((number > 0) AND ((number = 1) = (kind = 'initiation'::text))))
constraint attempt.attempt_check1 CHECK (((kind = 'initiation'::text) = ((key IS NOT NULL) AND (connector_uuid IS NOT NULL) AND (mechanism IS NOT NULL) AND (fields IS NOT NULL) AND (waits IS NOT NULL))))
constraint attempt.attempt_check2 CHECK (((kind = 'answer'::text) = ((action IS NOT NULL) AND (agreed IS NOT NULL))))
constraint attempt.attempt_check3 CHECK (((kind = 'initiation'::text) = (actor IS NULL)))
constraint attempt.attempt_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint attempt.attempt_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint attempt.attempt_key_key UNIQUE (key)
constraint attempt.attempt_kind_check CHECK ((kind = ANY (ARRAY['initiation'::text, 'answer'::text, 'cancellation'::text])))
constraint attempt.attempt_payment_id_number_key UNIQUE (payment_id, number)
constraint attempt.attempt_pkey PRIMARY KEY (id)
constraint attempt.attempt_state_check CHECK ((state = ANY (ARRAY['open'::text, 'answered'::text, 'unknown'::text])))
CREATE UNIQUE INDEX attempt_key_key ON attempt USING btree (key)
CREATE UNIQUE INDEX attempt_live ON attempt USING btree (payment_id) WHERE (state <> 'answered'::text)
CREATE UNIQUE INDEX attempt_payment_id_number_key ON attempt USING btree (payment_id, number)
CREATE UNIQUE INDEX attempt_pkey ON attempt USING btree (id)
CREATE INDEX attempt_unanswered ON attempt USING btree (domain_id, lease_until) WHERE (state <> 'answered'::text)
column audit.id bigint NOT NULL IDENTITY
column audit.domain_id bigint {n_distinct=100}
column audit.at bigint NOT NULL
column audit.operator_id bigint
column audit.session_id bigint
column audit.request_id text NOT NULL
column audit.act text NOT NULL
column audit.subject text
column audit.subject_id bigint
column audit.refused boolean NOT NULL
column audit.number bigint
column audit.previous bytea
column audit.hash bytea
constraint audit.audit_check CHECK (((subject IS NULL) = (subject_id IS NULL)))
constraint audit.audit_check1 CHECK ((((number IS NULL) = (hash IS NULL)) AND ((number IS NULL) OR (previous IS NOT NULL))))
constraint audit.audit_pkey PRIMARY KEY (id)
CREATE INDEX audit_by_time ON audit USING btree (at, id)
CREATE UNIQUE INDEX audit_chain ON audit USING btree (COALESCE(domain_id, (0)::bigint), number) WHERE (number IS NOT NULL)
CREATE INDEX audit_of_domain ON audit USING btree (domain_id, at, id)
CREATE INDEX audit_of_operator ON audit USING btree (operator_id, at, id)
CREATE INDEX audit_of_request ON audit USING btree (request_id)
CREATE INDEX audit_of_subject ON audit USING btree (subject, subject_id, at, id) WHERE (subject IS NOT NULL)
CREATE UNIQUE INDEX audit_pkey ON audit USING btree (id)
CREATE INDEX audit_to_chain ON audit USING btree (COALESCE(domain_id, (0)::bigint), id) WHERE (number IS NULL)
CREATE TRIGGER audit_begins_unchained BEFORE INSERT ON audit FOR EACH ROW WHEN ((new.number IS NOT NULL)) EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_stays BEFORE UPDATE OF id, domain_id, at, operator_id, session_id, request_id, act, subject, subject_id, refused ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_stays_chained BEFORE UPDATE ON audit FOR EACH ROW WHEN ((old.number IS NOT NULL)) EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_stays_whole BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays()
column audit_end.chain bigint NOT NULL
column audit_end.number bigint NOT NULL
column audit_end.hash bytea NOT NULL
constraint audit_end.audit_end_number_check CHECK ((number > 0))
constraint audit_end.audit_end_pkey PRIMARY KEY (chain)
CREATE UNIQUE INDEX audit_end_pkey ON audit_end USING btree (chain)
CREATE TRIGGER audit_end_goes_on BEFORE UPDATE ON audit_end FOR EACH ROW WHEN (((new.chain <> old.chain) OR (new.number <= old.number))) EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_end_is_not_emptied BEFORE TRUNCATE ON audit_end FOR EACH STATEMENT EXECUTE FUNCTION audit_stays()
CREATE TRIGGER audit_end_stays BEFORE DELETE ON audit_end FOR EACH ROW EXECUTE FUNCTION audit_stays()
column audit_turn.only_row bigint NOT NULL
column audit_turn.holder text NOT NULL
column audit_turn.lease_until bigint NOT NULL
constraint audit_turn.audit_turn_only_row_check CHECK ((only_row = 1))
constraint audit_turn.audit_turn_pkey PRIMARY KEY (only_row)
CREATE UNIQUE INDEX audit_turn_pkey ON audit_turn USING btree (only_row)
column auth_provider.id bigint NOT NULL IDENTITY
column auth_provider.domain_id bigint NOT NULL {n_distinct=100}
column auth_provider.type text NOT NULL
column auth_provider.name text NOT NULL
column auth_provider.secret bytea NOT NULL
column auth_provider.created bigint NOT NULL
column auth_provider.deleted bigint
column auth_provider.next_secret bytea
column auth_provider.next_from bigint
column auth_provider.config bytea
column auth_provider.updated bigint
constraint auth_provider.auth_provider_check CHECK (((next_secret IS NULL) = (next_from IS NULL)))
constraint auth_provider.auth_provider_check1 CHECK (((type = 'oauth'::text) = (config IS NOT NULL)))
constraint auth_provider.auth_provider_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint auth_provider.auth_provider_pkey PRIMARY KEY (id)
constraint auth_provider.auth_provider_type_check CHECK ((type = ANY (ARRAY['hmac_signature'::text, 'oauth'::text])))
CREATE UNIQUE INDEX auth_provider_name ON auth_provider USING btree (domain_id, name) WHERE (deleted IS NULL)
CREATE UNIQUE INDEX auth_provider_pkey ON auth_provider USING btree (id)
column bank_account.id bigint NOT NULL IDENTITY
column bank_account.domain_id bigint NOT NULL {n_distinct=100}
column bank_account.user_id bigint NOT NULL
column bank_account.connection_id bigint NOT NULL
column bank_account.source_id bigint
column bank_account.parent_id bigint
column bank_account.key text NOT NULL
column bank_account.type text NOT NULL
column bank_account.details text NOT NULL
column bank_account.digest bigint NOT NULL
column bank_account.custom_name text
column bank_account.display boolean NOT NULL DEFAULT true
column bank_account.bookmarked boolean NOT NULL DEFAULT false
column bank_account.usage text
column bank_account.disabled bigint
column bank_account.deleted bigint
column bank_account.last_update bigint
column bank_account.error text
column bank_account.covered_from text
column bank_account.epoch bigint NOT NULL DEFAULT 0
column bank_account.transactions bigint NOT NULL DEFAULT 0
column bank_account.deleted_transactions bigint NOT NULL DEFAULT 0
column bank_account.changed bigint NOT NULL DEFAULT 0
column bank_account.worth text
column bank_account.readings bigint NOT NULL DEFAULT 0
constraint bank_account.bank_account_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
constraint bank_account.bank_account_connection_id_key_key UNIQUE (connection_id, key)
constraint bank_account.bank_account_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint bank_account.bank_account_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX bank_account_connection_id_key_key ON bank_account USING btree (connection_id, key)
CREATE INDEX bank_account_of_connection ON bank_account USING btree (connection_id, id)
CREATE INDEX bank_account_of_user ON bank_account USING btree (domain_id, user_id, id)
CREATE UNIQUE INDEX bank_account_pkey ON bank_account USING btree (id)
column bank_disturbance.process text NOT NULL
column bank_disturbance.connector text NOT NULL
column bank_disturbance.until bigint NOT NULL
constraint bank_disturbance.bank_disturbance_pkey PRIMARY KEY (process, connector)
CREATE UNIQUE INDEX bank_disturbance_pkey ON bank_disturbance USING btree (process, connector)
column bank_transaction.id bigint NOT NULL IDENTITY
column bank_transaction.domain_id bigint NOT NULL {n_distinct=100}
column bank_transaction.user_id bigint NOT NULL
column bank_transaction.account_id bigint NOT NULL
column bank_transaction.epoch bigint NOT NULL
column bank_transaction.key text NOT NULL
column bank_transaction.date text NOT NULL
column bank_transaction.application_date text NOT NULL
column bank_transaction.value bigint NOT NULL
column bank_transaction.value_scale bigint NOT NULL
column bank_transaction.wording text NOT NULL
column bank_transaction.custom_wording text
column bank_transaction.comment text
column bank_transaction.moved boolean NOT NULL DEFAULT false
column bank_transaction.active boolean NOT NULL DEFAULT true
column bank_transaction.coming boolean NOT NULL
column bank_transaction.categories text
column bank_transaction.cluster_id bigint
column bank_transaction.details text NOT NULL
column bank_transaction.digest bigint NOT NULL
column bank_transaction.scraped bigint NOT NULL
column bank_transaction.last_update bigint NOT NULL
column bank_transaction.deleted bigint
column bank_transaction.changed bigint NOT NULL
column bank_transaction.folded text NOT NULL DEFAULT ''::text
column bank_transaction.custom_folded text
column bank_transaction.connection_id bigint NOT NULL DEFAULT 0
column bank_transaction.manual boolean NOT NULL DEFAULT false
column bank_transaction.booked bigint
constraint bank_transaction.bank_transaction_account_id_epoch_key_key UNIQUE (account_id, epoch, key)
constraint bank_transaction.bank_transaction_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX bank_transaction_account_id_epoch_key_key ON bank_transaction USING btree (account_id, epoch, key)
CREATE UNIQUE INDEX bank_transaction_pkey ON bank_transaction USING btree (id)
CREATE INDEX transaction_changed ON bank_transaction USING btree (account_id, epoch, changed, id)
CREATE INDEX transaction_manual ON bank_transaction USING btree (account_id, epoch) WHERE manual
CREATE INDEX transaction_of_account ON bank_transaction USING btree (account_id, epoch, application_date, id)
CREATE INDEX transaction_of_account_by_date ON bank_transaction USING btree (account_id, epoch, date, id)
CREATE INDEX transaction_of_cluster ON bank_transaction USING btree (cluster_id) WHERE (cluster_id IS NOT NULL)
CREATE INDEX transaction_of_connection ON bank_transaction USING btree (connection_id, application_date, id)
CREATE INDEX transaction_of_connection_by_date ON bank_transaction USING btree (connection_id, date, id)
CREATE INDEX transaction_of_user ON bank_transaction USING btree (domain_id, user_id, application_date, id)
CREATE INDEX transaction_of_user_by_date ON bank_transaction USING btree (domain_id, user_id, date, id)
column category.id bigint NOT NULL IDENTITY
column category.domain_id bigint NOT NULL {n_distinct=100}
column category.user_id bigint NOT NULL
column category.parent_id bigint
column category.name text NOT NULL
column category.income boolean NOT NULL
column category.refundable boolean NOT NULL
column category.color text
constraint category.category_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint category.category_pkey PRIMARY KEY (id)
constraint category.category_user_id_fkey FOREIGN KEY (user_id) REFERENCES end_user(id) ON DELETE CASCADE
CREATE INDEX category_of_user ON category USING btree (user_id, id)
CREATE UNIQUE INDEX category_pkey ON category USING btree (id)
column client.id bigint NOT NULL IDENTITY
column client.domain_id bigint NOT NULL {n_distinct=100}
column client.name text NOT NULL
column client.secret_hash bytea NOT NULL
column client.redirect_uris text NOT NULL
column client.created bigint NOT NULL
column client.deleted bigint
column client.config text NOT NULL DEFAULT '{}'::text
column client.primary_color text
column client.secondary_color text
column client.description text
column client.description_banks text
column client.description_providers text
column client.pro boolean NOT NULL DEFAULT false
column client.private_key bytea
column client.public_key text
column client.last_used bigint
constraint client.client_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint client.client_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX client_by_domain ON client USING btree (domain_id, id)
CREATE UNIQUE INDEX client_pkey ON client USING btree (id)
column client_logo.id bigint NOT NULL IDENTITY
column client_logo.client_id bigint NOT NULL
column client_logo.domain_id bigint NOT NULL {n_distinct=100}
column client_logo.media_type text NOT NULL
column client_logo.content bytea NOT NULL
column client_logo.created bigint NOT NULL
constraint client_logo.client_logo_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id)
constraint client_logo.client_logo_client_id_key UNIQUE (client_id)
constraint client_logo.client_logo_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint client_logo.client_logo_media_type_check CHECK ((media_type = ANY (ARRAY['image/png'::text, 'image/jpeg'::text])))
constraint client_logo.client_logo_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX client_logo_client_id_key ON client_logo USING btree (client_id)
CREATE UNIQUE INDEX client_logo_pkey ON client_logo USING btree (id)
column connection.id bigint NOT NULL IDENTITY
column connection.domain_id bigint NOT NULL {n_distinct=100}
column connection.user_id bigint NOT NULL
column connection.connector_uuid text NOT NULL
column connection.created bigint NOT NULL
column connection.state text
column connection.message text
column connection.fields text
column connection.url text
column connection.active boolean NOT NULL DEFAULT true
column connection.established bigint
column connection.last_update bigint
column connection.last_push bigint
column connection.expire bigint
column connection.next_try bigint
column connection.consent_until bigint
column connection.failures bigint NOT NULL DEFAULT 0
column connection.unattended_from bigint NOT NULL DEFAULT 0
column connection.unattended bigint NOT NULL DEFAULT 0
column connection.credentials bytea NOT NULL
column connection.memory bytea
column connection.version bigint NOT NULL DEFAULT 0
column connection.sync bigint NOT NULL DEFAULT 0
column connection.holder text NOT NULL DEFAULT ''::text
column connection.lease_until bigint NOT NULL DEFAULT 0
column connection.deleted bigint
column connection.read_soon boolean NOT NULL DEFAULT false
column connection.terminate bigint
constraint connection.connection_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint connection.connection_pkey PRIMARY KEY (id)
CREATE INDEX connection_due ON connection USING btree (domain_id, next_try) WHERE ((next_try IS NOT NULL) AND (deleted IS NULL))
CREATE INDEX connection_in_trouble ON connection USING btree (domain_id, state, id) WHERE ((state IS NOT NULL) AND (deleted IS NULL))
CREATE INDEX connection_in_trouble_at ON connection USING btree (domain_id, connector_uuid, state, id) WHERE ((state IS NOT NULL) AND (deleted IS NULL))
CREATE INDEX connection_lapsing ON connection USING btree (domain_id, consent_until) WHERE ((consent_until IS NOT NULL) AND (deleted IS NULL) AND ((state IS NULL) OR (state <> ALL (ARRAY['SCARequired'::text, 'webauthRequired'::text]))))
CREATE INDEX connection_of_connector ON connection USING btree (domain_id, connector_uuid, id) WHERE (deleted IS NULL)
CREATE INDEX connection_of_user ON connection USING btree (domain_id, user_id, id) WHERE (deleted IS NULL)
CREATE UNIQUE INDEX connection_pkey ON connection USING btree (id)
CREATE INDEX connection_terminating ON connection USING btree (domain_id, terminate, id) WHERE ((terminate IS NOT NULL) AND (deleted IS NOT NULL))
CREATE INDEX connection_unfinished ON connection USING btree (domain_id, expire) WHERE ((expire IS NOT NULL) AND (deleted IS NULL))
CREATE INDEX connection_well ON connection USING btree (domain_id, id) WHERE ((state IS NULL) AND (deleted IS NULL))
column connection_log.id bigint NOT NULL IDENTITY
column connection_log.domain_id bigint NOT NULL {n_distinct=100}
column connection_log.user_id bigint NOT NULL
column connection_log.connection_id bigint NOT NULL
column connection_log.source_id bigint
column connection_log.started bigint NOT NULL
column connection_log.at bigint NOT NULL
column connection_log.next_try bigint
column connection_log.state text
column connection_log.message text
column connection_log.accounts bigint NOT NULL
column connection_log.attended boolean NOT NULL
constraint connection_log.connection_log_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
constraint connection_log.connection_log_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint connection_log.connection_log_pkey PRIMARY KEY (id)
CREATE INDEX connection_log_by_time ON connection_log USING btree (connection_id, at, id)
CREATE INDEX connection_log_of_user ON connection_log USING btree (domain_id, user_id, at, id)
CREATE UNIQUE INDEX connection_log_pkey ON connection_log USING btree (id)
column connection_return.connection_id bigint NOT NULL
column connection_return.domain_id bigint NOT NULL {n_distinct=100}
column connection_return.user_id bigint NOT NULL
column connection_return.nonce bytea NOT NULL
column connection_return.redirect_uri text
column connection_return.client_state text
constraint connection_return.connection_return_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
constraint connection_return.connection_return_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint connection_return.connection_return_pkey PRIMARY KEY (connection_id)
CREATE INDEX connection_return_of_user ON connection_return USING btree (domain_id, user_id)
CREATE UNIQUE INDEX connection_return_pkey ON connection_return USING btree (connection_id)
column connection_source.id bigint NOT NULL IDENTITY
column connection_source.domain_id bigint NOT NULL {n_distinct=100}
column connection_source.connection_id bigint NOT NULL
column connection_source.connector_source bigint NOT NULL
column connection_source.name text NOT NULL
column connection_source.state text
column connection_source.created bigint NOT NULL
column connection_source.last_update bigint
column connection_source.disabled bigint
column connection_source.access_expire bigint
column connection_source.expire bigint
column connection_source.next_try bigint
constraint connection_source.connection_source_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
constraint connection_source.connection_source_connection_id_name_key UNIQUE (connection_id, name)
constraint connection_source.connection_source_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint connection_source.connection_source_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX connection_source_connection_id_name_key ON connection_source USING btree (connection_id, name)
CREATE UNIQUE INDEX connection_source_pkey ON connection_source USING btree (id)
column connector_name.uuid text NOT NULL
column connector_name.name text NOT NULL
constraint connector_name.connector_name_pkey PRIMARY KEY (uuid)
CREATE UNIQUE INDEX connector_name_pkey ON connector_name USING btree (uuid)
column connector_program.id bigint NOT NULL IDENTITY
column connector_program.uuid text NOT NULL
column connector_program.address text NOT NULL
column connector_program.secret bytea NOT NULL
column connector_program.profile text NOT NULL
column connector_program.added bigint NOT NULL
constraint connector_program.connector_program_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX connector_program_by_uuid ON connector_program USING btree (uuid)
CREATE UNIQUE INDEX connector_program_pkey ON connector_program USING btree (id)
column consent.id bigint NOT NULL IDENTITY
column consent.domain_id bigint NOT NULL {n_distinct=100}
column consent.user_id bigint NOT NULL
column consent.connection_id bigint NOT NULL
column consent.account_id bigint
column consent.subscription_id bigint
column consent.text_version text NOT NULL
column consent.origin text NOT NULL
column consent.given bigint NOT NULL
column consent.withdrawn bigint
constraint consent.consent_check CHECK (((account_id IS NULL) OR (subscription_id IS NULL)))
constraint consent.consent_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint consent.consent_pkey PRIMARY KEY (id)
CREATE INDEX consent_of_account ON consent USING btree (account_id) WHERE (account_id IS NOT NULL)
CREATE INDEX consent_of_connection ON consent USING btree (connection_id, id)
CREATE INDEX consent_of_subscription ON consent USING btree (subscription_id) WHERE (subscription_id IS NOT NULL)
CREATE INDEX consent_of_user ON consent USING btree (domain_id, user_id, given, id)
CREATE UNIQUE INDEX consent_pkey ON consent USING btree (id)
column console_session.id bigint NOT NULL IDENTITY
column console_session.operator_id bigint NOT NULL
column console_session.token_hash bytea NOT NULL
column console_session.csrf bytea NOT NULL
column console_session.stage text NOT NULL
column console_session.created bigint NOT NULL
column console_session.seen bigint NOT NULL
column console_session.expires bigint NOT NULL
column console_session.revoked bigint
constraint console_session.console_session_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operator(id)
constraint console_session.console_session_pkey PRIMARY KEY (id)
constraint console_session.console_session_stage_check CHECK ((stage = ANY (ARRAY['waiting'::text, 'single'::text, 'double'::text])))
constraint console_session.console_session_token_hash_key UNIQUE (token_hash)
CREATE INDEX console_session_by_expiry ON console_session USING btree (expires)
CREATE INDEX console_session_of_operator ON console_session USING btree (operator_id, id) WHERE (revoked IS NULL)
CREATE UNIQUE INDEX console_session_pkey ON console_session USING btree (id)
CREATE UNIQUE INDEX console_session_token_hash_key ON console_session USING btree (token_hash)
column counter.domain_id bigint NOT NULL {n_distinct=100}
column counter.name text NOT NULL
column counter.shard bigint NOT NULL
column counter.n bigint NOT NULL
constraint counter.counter_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint counter.counter_pkey PRIMARY KEY (domain_id, name, shard)
CREATE UNIQUE INDEX counter_pkey ON counter USING btree (domain_id, name, shard)
column delivery.id bigint NOT NULL IDENTITY
column delivery.domain_id bigint NOT NULL {n_distinct=100}
column delivery.webhook_id bigint NOT NULL
column delivery.event_id bigint NOT NULL
column delivery.subject text NOT NULL
column delivery.subject_id bigint NOT NULL
column delivery.version bigint NOT NULL
column delivery.created bigint NOT NULL
column delivery.attempts bigint NOT NULL DEFAULT 0
column delivery.delivered bigint
column delivery.not_before bigint NOT NULL DEFAULT 0
column delivery.dropped bigint
column delivery.drop_reason text
constraint delivery.delivery_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint delivery.delivery_event_id_fkey FOREIGN KEY (event_id) REFERENCES event(id)
constraint delivery.delivery_pkey PRIMARY KEY (id)
constraint delivery.delivery_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id)
CREATE INDEX delivery_earlier ON delivery USING btree (((webhook_id + 0)), subject, subject_id, version) WHERE (COALESCE(dropped, delivered) IS NULL)
CREATE INDEX delivery_held_back ON delivery USING btree (domain_id, subject, subject_id, version) WHERE ((delivered IS NULL) AND (dropped IS NULL) AND (not_before > 0))
CREATE INDEX delivery_held_until ON delivery USING btree (domain_id, not_before, id) WHERE ((delivered IS NULL) AND (dropped IS NULL) AND (not_before > 0))
CREATE INDEX delivery_in_state ON delivery USING btree (webhook_id, (
CASE
    WHEN (delivered IS NOT NULL) THEN 2
    WHEN (dropped IS NOT NULL) THEN 1
    ELSE 0
END), created, id)
CREATE INDEX delivery_of_event ON delivery USING btree (event_id)
CREATE INDEX delivery_order ON delivery USING btree (webhook_id, subject, subject_id, version) WHERE ((delivered IS NULL) AND (dropped IS NULL))
CREATE INDEX delivery_over ON delivery USING btree (domain_id, created, id) WHERE ((delivered IS NOT NULL) OR (dropped IS NOT NULL))
CREATE UNIQUE INDEX delivery_pkey ON delivery USING btree (id)
CREATE INDEX delivery_waiting ON delivery USING btree (webhook_id, (
CASE
    WHEN (attempts > 0) THEN 1
    ELSE 0
END), id) WHERE ((delivered IS NULL) AND (dropped IS NULL))
column delivery_attempt.id bigint NOT NULL IDENTITY
column delivery_attempt.domain_id bigint NOT NULL {n_distinct=100}
column delivery_attempt.webhook_id bigint NOT NULL
column delivery_attempt.delivery_id bigint NOT NULL
column delivery_attempt.at bigint NOT NULL
column delivery_attempt.duration bigint NOT NULL
column delivery_attempt.status bigint
column delivery_attempt.failure text
column delivery_attempt.answer text
column delivery_attempt.detail text
column delivery_attempt.signed text
column delivery_attempt.signature text
column delivery_attempt.next_signature text
constraint delivery_attempt.delivery_attempt_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES delivery(id)
constraint delivery_attempt.delivery_attempt_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint delivery_attempt.delivery_attempt_pkey PRIMARY KEY (id)
constraint delivery_attempt.delivery_attempt_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id)
CREATE INDEX delivery_attempt_by_time ON delivery_attempt USING btree (webhook_id, at, id)
CREATE INDEX delivery_attempt_in_order ON delivery_attempt USING btree (delivery_id, at, id)
CREATE UNIQUE INDEX delivery_attempt_pkey ON delivery_attempt USING btree (id)
column document.id bigint NOT NULL IDENTITY
column document.domain_id bigint NOT NULL {n_distinct=100}
column document.user_id bigint NOT NULL
column document.subscription_id bigint NOT NULL
column document.epoch bigint NOT NULL
column document.key text NOT NULL
column document.type text NOT NULL
column document.date text NOT NULL
column document.total bigint
column document.total_scale bigint
column document.details text NOT NULL
column document.digest bigint NOT NULL
column document.file_id bigint
column document.found bigint NOT NULL
column document.last_update bigint NOT NULL
column document.deleted bigint
column document.changed bigint NOT NULL
column document.readonly boolean NOT NULL DEFAULT false
column document.custom_type text
column document.custom_name text
column document.custom_date text
column document.custom_due text
column document.custom_total text
column document.custom_untaxed text
column document.custom_vat text
column document.custom_income boolean
column document.category bigint
column document.connection_id bigint NOT NULL DEFAULT 0
column document.manual boolean NOT NULL DEFAULT false
constraint document.document_file_id_fkey FOREIGN KEY (file_id) REFERENCES stored_file(id)
constraint document.document_pkey PRIMARY KEY (id)
constraint document.document_subscription_id_epoch_key_key UNIQUE (subscription_id, epoch, key)
CREATE INDEX document_changed ON document USING btree (subscription_id, epoch, changed, id)
CREATE INDEX document_of_connection ON document USING btree (connection_id, date, id)
CREATE INDEX document_of_file ON document USING btree (file_id) WHERE (file_id IS NOT NULL)
CREATE INDEX document_of_subscription ON document USING btree (subscription_id, epoch, date, id)
CREATE INDEX document_of_user ON document USING btree (domain_id, user_id, date, id)
CREATE UNIQUE INDEX document_pkey ON document USING btree (id)
CREATE UNIQUE INDEX document_subscription_id_epoch_key_key ON document USING btree (subscription_id, epoch, key)
column document_type.domain_id bigint NOT NULL {n_distinct=100}
column document_type.number bigint NOT NULL
column document_type.name text
column document_type.attachable boolean
constraint document_type.document_type_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint document_type.document_type_pkey PRIMARY KEY (domain_id, number)
CREATE UNIQUE INDEX document_type_pkey ON document_type USING btree (domain_id, number)
column domain.id bigint NOT NULL IDENTITY
column domain.name text NOT NULL
column domain.kind text NOT NULL
column domain.host text NOT NULL
column domain.base_url text NOT NULL
column domain.created bigint NOT NULL
column domain.clock_offset bigint NOT NULL DEFAULT 0
column domain.clock_frozen bigint
constraint domain.domain_check CHECK (((kind = 'sandbox'::text) OR ((clock_offset = 0) AND (clock_frozen IS NULL))))
constraint domain.domain_host_key UNIQUE (host)
constraint domain.domain_kind_check CHECK ((kind = ANY (ARRAY['sandbox'::text, 'live'::text])))
constraint domain.domain_name_key UNIQUE (name)
constraint domain.domain_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX domain_host_key ON domain USING btree (host)
CREATE UNIQUE INDEX domain_name_key ON domain USING btree (name)
CREATE UNIQUE INDEX domain_pkey ON domain USING btree (id)
column end_user.id bigint NOT NULL IDENTITY
column end_user.domain_id bigint NOT NULL {n_distinct=100}
column end_user.platform text NOT NULL
column end_user.created bigint NOT NULL
column end_user.permanent bigint
column end_user.expires bigint
column end_user.version bigint NOT NULL
constraint end_user.end_user_check CHECK (((permanent IS NULL) = (expires IS NOT NULL)))
constraint end_user.end_user_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint end_user.end_user_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX end_user_by_domain ON end_user USING btree (domain_id, id)
CREATE INDEX end_user_by_expiry ON end_user USING btree (domain_id, expires) WHERE (expires IS NOT NULL)
CREATE UNIQUE INDEX end_user_pkey ON end_user USING btree (id)
column erasure.user_id bigint NOT NULL
column erasure.domain_id bigint NOT NULL {n_distinct=100}
column erasure.since bigint NOT NULL
column erasure.due bigint NOT NULL
constraint erasure.erasure_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint erasure.erasure_pkey PRIMARY KEY (user_id)
CREATE INDEX erasure_due ON erasure USING btree (domain_id, due)
CREATE UNIQUE INDEX erasure_pkey ON erasure USING btree (user_id)
column event.id bigint NOT NULL IDENTITY
column event.domain_id bigint NOT NULL {n_distinct=100}
column event.name text NOT NULL
column event.subject text NOT NULL
column event.subject_id bigint NOT NULL
column event.version bigint NOT NULL
column event.body bytea NOT NULL
column event.created bigint NOT NULL
column event.user_id bigint
column event.held boolean NOT NULL DEFAULT false
column event.media_type text NOT NULL DEFAULT 'application/json'::text
column event.omitted bigint NOT NULL DEFAULT 0
column event.parted bigint NOT NULL DEFAULT 0
column event.erased bigint
column event.holds text
column event.account_id bigint
column event.trace text
constraint event.event_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint event.event_domain_id_subject_subject_id_name_version_key UNIQUE (domain_id, subject, subject_id, name, version)
constraint event.event_pkey PRIMARY KEY (id)
CREATE INDEX event_by_age ON event USING btree (domain_id, created, id)
CREATE UNIQUE INDEX event_domain_id_subject_subject_id_name_version_key ON event USING btree (domain_id, subject, subject_id, name, version)
CREATE INDEX event_held ON event USING btree (domain_id, user_id, id) WHERE held
CREATE INDEX event_holding ON event USING btree (domain_id, user_id, id) WHERE ((holds IS NOT NULL) AND (erased IS NULL))
CREATE INDEX event_of_user ON event USING btree (domain_id, user_id, id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX event_pkey ON event USING btree (id)
column event_part.event_id bigint NOT NULL
column event_part.number bigint NOT NULL
column event_part.domain_id bigint NOT NULL {n_distinct=100}
column event_part.body bytea NOT NULL
column event_part.created bigint NOT NULL
constraint event_part.event_part_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint event_part.event_part_pkey PRIMARY KEY (event_id, number)
CREATE INDEX event_part_by_age ON event_part USING btree (created, event_id)
CREATE UNIQUE INDEX event_part_pkey ON event_part USING btree (event_id, number)
column field_key.id bigint NOT NULL IDENTITY
column field_key.domain_id bigint NOT NULL {n_distinct=100}
column field_key.number bigint NOT NULL
column field_key.kid text NOT NULL
column field_key.private bytea NOT NULL
column field_key.created bigint NOT NULL
constraint field_key.field_key_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint field_key.field_key_domain_id_number_key UNIQUE (domain_id, number)
constraint field_key.field_key_kid_key UNIQUE (kid)
constraint field_key.field_key_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX field_key_domain_id_number_key ON field_key USING btree (domain_id, number)
CREATE UNIQUE INDEX field_key_kid_key ON field_key USING btree (kid)
CREATE UNIQUE INDEX field_key_pkey ON field_key USING btree (id)
column idempotency.id bigint NOT NULL IDENTITY
column idempotency.domain_id bigint NOT NULL {n_distinct=100}
column idempotency.token_id bigint NOT NULL
column idempotency.key_hash bytea NOT NULL
column idempotency.request_hash bytea NOT NULL
column idempotency.run bigint NOT NULL
column idempotency.lease_until bigint NOT NULL
column idempotency.subject bigint
column idempotency.answer bytea
column idempotency.expires bigint NOT NULL
constraint idempotency.idempotency_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint idempotency.idempotency_domain_id_token_id_key_hash_key UNIQUE (domain_id, token_id, key_hash)
constraint idempotency.idempotency_pkey PRIMARY KEY (id)
CREATE INDEX idempotency_by_expiry ON idempotency USING btree (expires)
CREATE UNIQUE INDEX idempotency_domain_id_token_id_key_hash_key ON idempotency USING btree (domain_id, token_id, key_hash)
CREATE UNIQUE INDEX idempotency_pkey ON idempotency USING btree (id)
column instruction.id bigint NOT NULL IDENTITY
column instruction.payment_id bigint NOT NULL
column instruction.position bigint NOT NULL
column instruction.domain_id bigint NOT NULL {n_distinct=100}
column instruction.reference_id text NOT NULL
column instruction.amount bigint NOT NULL
column instruction.label text NOT NULL
column instruction.execution_date text
column instruction.start_date text
column instruction.end_date text
column instruction.frequency text
column instruction.beneficiary_scheme text NOT NULL
column instruction.beneficiary_identification text NOT NULL
column instruction.beneficiary_label text NOT NULL
column instruction.beneficiary_issuer text
column instruction.state text
column instruction.error_code text
column instruction.error_description text
column instruction.exec_date text
column instruction.occurred text
column instruction.registered bigint NOT NULL
column instruction.new_beneficiary boolean NOT NULL
column instruction.new_reference boolean NOT NULL
column instruction.new_end boolean NOT NULL DEFAULT true
column instruction.label_folded text NOT NULL DEFAULT ''::text
column instruction.label_shared bigint NOT NULL DEFAULT 0
constraint instruction.instruction_amount_check CHECK ((amount > 0))
constraint instruction.instruction_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint instruction.instruction_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint instruction.instruction_payment_id_position_key UNIQUE (payment_id, "position")
constraint instruction.instruction_pkey PRIMARY KEY (id)
constraint instruction.instruction_state_check CHECK (((state IS NULL) OR (state = ANY (ARRAY['pending'::text, 'rejected'::text, 'done'::text, 'accepted'::text]))))
CREATE INDEX instruction_of_beneficiary ON instruction USING btree (domain_id, beneficiary_identification, registered, payment_id) WHERE new_beneficiary
CREATE INDEX instruction_of_end ON instruction USING btree (domain_id, substr(beneficiary_identification, (length(beneficiary_identification) - 3)), registered, payment_id) WHERE new_end
CREATE INDEX instruction_of_label ON instruction USING btree (domain_id, label_folded, payment_id, label_shared)
CREATE INDEX instruction_of_reference ON instruction USING btree (domain_id, reference_id, registered, payment_id) WHERE new_reference
CREATE UNIQUE INDEX instruction_payment_id_position_key ON instruction USING btree (payment_id, "position")
CREATE UNIQUE INDEX instruction_pkey ON instruction USING btree (id)
column investment_value.id bigint NOT NULL IDENTITY
column investment_value.domain_id bigint NOT NULL {n_distinct=100}
column investment_value.account_id bigint NOT NULL
column investment_value.epoch bigint NOT NULL
column investment_value.investment_id bigint NOT NULL
column investment_value.date text NOT NULL
column investment_value.value text NOT NULL
column investment_value.original_currency text
column investment_value.original_value text
constraint investment_value.investment_value_investment_id_date_key UNIQUE (investment_id, date)
constraint investment_value.investment_value_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX investment_value_investment_id_date_key ON investment_value USING btree (investment_id, date)
CREATE INDEX investment_value_of_account ON investment_value USING btree (account_id, epoch, id)
CREATE UNIQUE INDEX investment_value_pkey ON investment_value USING btree (id)
column key_check.only_row bigint NOT NULL
column key_check.sealed bytea NOT NULL
constraint key_check.key_check_only_row_check CHECK ((only_row = 1))
constraint key_check.key_check_pkey PRIMARY KEY (only_row)
CREATE UNIQUE INDEX key_check_pkey ON key_check USING btree (only_row)
column last_backup.only_row bigint NOT NULL
column last_backup.begun bigint NOT NULL
constraint last_backup.last_backup_only_row_check CHECK ((only_row = 1))
constraint last_backup.last_backup_pkey PRIMARY KEY (only_row)
CREATE UNIQUE INDEX last_backup_pkey ON last_backup USING btree (only_row)
column mail.id bigint NOT NULL IDENTITY
column mail.domain_id bigint NOT NULL {n_distinct=100}
column mail.webhook_id bigint
column mail.kind text NOT NULL
column mail.recipient text NOT NULL
column mail.subject text NOT NULL
column mail.text text NOT NULL
column mail.created bigint NOT NULL
column mail.attempts bigint NOT NULL DEFAULT 0
column mail.next_try bigint NOT NULL DEFAULT 0
column mail.lease_until bigint NOT NULL DEFAULT 0
column mail.failure text
column mail.sent bigint
constraint mail.mail_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint mail.mail_pkey PRIMARY KEY (id)
constraint mail.mail_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id)
CREATE INDEX mail_by_domain ON mail USING btree (domain_id, id)
CREATE UNIQUE INDEX mail_pkey ON mail USING btree (id)
CREATE INDEX mail_unsent ON mail USING btree (next_try, id) WHERE (sent IS NULL)
column maintenance.only_row bigint NOT NULL
column maintenance.since bigint NOT NULL
constraint maintenance.maintenance_only_row_check CHECK ((only_row = 1))
constraint maintenance.maintenance_pkey PRIMARY KEY (only_row)
CREATE UNIQUE INDEX maintenance_pkey ON maintenance USING btree (only_row)
column operator.id bigint NOT NULL IDENTITY
column operator.name text NOT NULL
column operator.role text NOT NULL
column operator.password text NOT NULL
column operator.totp bytea
column operator.totp_proposed bytea
column operator.totp_step bigint NOT NULL DEFAULT 0
column operator.created bigint NOT NULL
column operator.disabled bigint
constraint operator.operator_name_key UNIQUE (name)
constraint operator.operator_pkey PRIMARY KEY (id)
constraint operator.operator_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'developer'::text, 'operator'::text, 'administrator'::text])))
CREATE UNIQUE INDEX operator_name_key ON operator USING btree (name)
CREATE UNIQUE INDEX operator_pkey ON operator USING btree (id)
column operator_identity.id bigint NOT NULL IDENTITY
column operator_identity.operator_id bigint NOT NULL
column operator_identity.issuer text NOT NULL
column operator_identity.subject text NOT NULL
column operator_identity.created bigint NOT NULL
constraint operator_identity.operator_identity_issuer_subject_key UNIQUE (issuer, subject)
constraint operator_identity.operator_identity_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operator(id)
constraint operator_identity.operator_identity_operator_id_issuer_key UNIQUE (operator_id, issuer)
constraint operator_identity.operator_identity_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX operator_identity_issuer_subject_key ON operator_identity USING btree (issuer, subject)
CREATE UNIQUE INDEX operator_identity_operator_id_issuer_key ON operator_identity USING btree (operator_id, issuer)
CREATE UNIQUE INDEX operator_identity_pkey ON operator_identity USING btree (id)
column payment.id bigint NOT NULL IDENTITY
column payment.domain_id bigint NOT NULL {n_distinct=100}
column payment.client_id bigint NOT NULL
column payment.version bigint NOT NULL
column payment.seq bigint NOT NULL
column payment.state text NOT NULL
column payment.state_detail text
column payment.action text
column payment.error_code text
column payment.error_description text
column payment.fields text
column payment.validate_uri text
column payment.connector_uuid text
column payment.connector_name text
column payment.validate_mechanism text
column payment.website text
column payment.terms_version text
column payment.registered bigint NOT NULL
column payment.validated bigint
column payment.client_redirect_uri text NOT NULL
column payment.client_state text NOT NULL
column payment.webview_url text
column payment.bank_payment_id text
column payment.payer_scheme text
column payment.payer_identification text
column payment.payer_label text
column payment.payer_issuer text
column payment.cancel_code text
column payment.cancel_redirect_uri text
column payment.cancel_state text
column payment.currency text NOT NULL
column payment.date_type text NOT NULL
column payment.amount bigint NOT NULL
column payment.instruction_count bigint NOT NULL
column payment.next_check bigint
column payment.check_lease bigint NOT NULL DEFAULT 0
column payment.expires_from bigint
column payment.returned bigint
column payment.source_id bigint
column payment.payer_number bytea
column payment.beneficiary_numbers bytea
column payment.bank_reports bigint NOT NULL DEFAULT 0
constraint payment.payment_amount_check CHECK ((amount > 0))
constraint payment.payment_check CHECK (((state_detail IS NULL) OR ((state_detail = 'cancelling'::text) AND (state = ANY (ARRAY['validating'::text, 'pending'::text])))))
constraint payment.payment_check1 CHECK (((state = 'rejected'::text) = (error_code IS NOT NULL)))
constraint payment.payment_check2 CHECK (((connector_uuid IS NULL) = (connector_name IS NULL)))
constraint payment.payment_check3 CHECK (((state = ANY (ARRAY['created'::text, 'validating'::text, 'pending'::text])) OR ((action IS NULL) AND (validate_uri IS NULL) AND (next_check IS NULL) AND (expires_from IS NULL))))
constraint payment.payment_domain_id_client_id_fkey FOREIGN KEY (domain_id, client_id) REFERENCES client(domain_id, id)
constraint payment.payment_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment.payment_domain_id_id_seq_state_fkey FOREIGN KEY (domain_id, id, seq, state) REFERENCES payment_transition(domain_id, payment_id, seq, to_state)
constraint payment.payment_instruction_count_check CHECK ((instruction_count > 0))
constraint payment.payment_pkey PRIMARY KEY (id)
CREATE INDEX payment_by_amount ON payment USING btree (domain_id, amount, id)
CREATE INDEX payment_by_connector ON payment USING btree (domain_id, connector_name, id)
CREATE INDEX payment_by_date_type ON payment USING btree (domain_id, date_type, id)
CREATE UNIQUE INDEX payment_by_id ON payment USING btree (domain_id, id)
CREATE INDEX payment_by_lines ON payment USING btree (domain_id, instruction_count, id)
CREATE INDEX payment_by_registration ON payment USING btree (domain_id, registered, id)
CREATE INDEX payment_by_state ON payment USING btree (domain_id, state, id)
CREATE INDEX payment_by_validation ON payment USING btree (domain_id, validated, id)
CREATE INDEX payment_in_state ON payment USING btree (domain_id, state, registered, id)
CREATE INDEX payment_of_bank_id ON payment USING btree (domain_id, bank_payment_id, registered, id) WHERE (bank_payment_id IS NOT NULL)
CREATE INDEX payment_of_client ON payment USING btree (domain_id, client_id, registered, id)
CREATE INDEX payment_of_connector ON payment USING btree (domain_id, connector_uuid, registered, id) WHERE (connector_uuid IS NOT NULL)
CREATE INDEX payment_of_date_type ON payment USING btree (domain_id, date_type, registered, id)
CREATE INDEX payment_of_error ON payment USING btree (domain_id, error_code, registered, id) WHERE (error_code IS NOT NULL)
CREATE INDEX payment_of_no_connector ON payment USING btree (domain_id, registered, id) WHERE (connector_uuid IS NULL)
CREATE INDEX payment_of_payer ON payment USING btree (domain_id, payer_identification, registered, id) WHERE (payer_identification IS NOT NULL)
CREATE INDEX payment_of_payer_end ON payment USING btree (domain_id, substr(payer_identification, (length(payer_identification) - 3)), registered, id) WHERE (payer_identification IS NOT NULL)
CREATE INDEX payment_of_website ON payment USING btree (domain_id, website, registered, id) WHERE (website IS NOT NULL)
CREATE UNIQUE INDEX payment_pkey ON payment USING btree (id)
CREATE INDEX payment_to_check ON payment USING btree (domain_id, next_check) WHERE (next_check IS NOT NULL)
CREATE INDEX payment_to_expire ON payment USING btree (domain_id, expires_from) WHERE (expires_from IS NOT NULL)
CREATE TRIGGER payment_moves_forward BEFORE UPDATE OF seq, state, version ON payment FOR EACH ROW WHEN (((new.seq < old.seq) OR (new.version <> (old.version + 1)))) EXECUTE FUNCTION payment_moves_forward()
column payment_edge.from_state text NOT NULL
column payment_edge.to_state text NOT NULL
constraint payment_edge.payment_edge_pkey PRIMARY KEY (from_state, to_state)
CREATE UNIQUE INDEX payment_edge_pkey ON payment_edge USING btree (from_state, to_state)
column payment_evidence.id bigint NOT NULL IDENTITY
column payment_evidence.payment_id bigint NOT NULL
column payment_evidence.domain_id bigint NOT NULL {n_distinct=100}
column payment_evidence.attempt bigint NOT NULL
column payment_evidence.act text NOT NULL
column payment_evidence.language text NOT NULL
column payment_evidence.shown bytea NOT NULL
column payment_evidence.at bigint NOT NULL
constraint payment_evidence.payment_evidence_act_check CHECK ((act = ANY (ARRAY['order'::text, 'fields'::text, 'agree'::text, 'refuse'::text, 'cancel'::text])))
constraint payment_evidence.payment_evidence_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_evidence.payment_evidence_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint payment_evidence.payment_evidence_payment_id_attempt_key UNIQUE (payment_id, attempt)
constraint payment_evidence.payment_evidence_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX payment_evidence_payment_id_attempt_key ON payment_evidence USING btree (payment_id, attempt)
CREATE UNIQUE INDEX payment_evidence_pkey ON payment_evidence USING btree (id)
CREATE TRIGGER payment_evidence_stays BEFORE UPDATE OF id, payment_id, domain_id, attempt, act, language, at ON payment_evidence FOR EACH ROW EXECUTE FUNCTION payment_evidence_stays()
column payment_given.payment_id bigint NOT NULL
column payment_given.domain_id bigint NOT NULL {n_distinct=100}
column payment_given.fields bytea NOT NULL
constraint payment_given.payment_given_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_given.payment_given_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint payment_given.payment_given_pkey PRIMARY KEY (payment_id)
CREATE UNIQUE INDEX payment_given_pkey ON payment_given USING btree (payment_id)
column payment_identity.id bigint NOT NULL IDENTITY
column payment_identity.payment_id bigint NOT NULL
column payment_identity.domain_id bigint NOT NULL {n_distinct=100}
column payment_identity.role text NOT NULL
column payment_identity.line bigint NOT NULL
column payment_identity.plain text NOT NULL
column payment_identity.sensitive bytea NOT NULL
column payment_identity.user_id bigint
constraint payment_identity.payment_identity_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_identity.payment_identity_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint payment_identity.payment_identity_payment_id_role_line_key UNIQUE (payment_id, role, line)
constraint payment_identity.payment_identity_pkey PRIMARY KEY (id)
constraint payment_identity.payment_identity_role_check CHECK ((role = ANY (ARRAY['payer'::text, 'operator'::text, 'beneficiary'::text])))
constraint payment_identity.payment_identity_user_id_fkey FOREIGN KEY (user_id) REFERENCES end_user(id) ON DELETE SET NULL
CREATE INDEX payment_identity_of_user ON payment_identity USING btree (user_id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX payment_identity_payment_id_role_line_key ON payment_identity USING btree (payment_id, role, line)
CREATE UNIQUE INDEX payment_identity_pkey ON payment_identity USING btree (id)
column payment_name_earlier.domain_id bigint NOT NULL {n_distinct=100}
column payment_name_earlier.before_id bigint NOT NULL
constraint payment_name_earlier.payment_name_earlier_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_name_earlier.payment_name_earlier_pkey PRIMARY KEY (domain_id)
CREATE UNIQUE INDEX payment_name_earlier_pkey ON payment_name_earlier USING btree (domain_id)
column payment_note.payment_id bigint NOT NULL
column payment_note.number bigint NOT NULL
column payment_note.domain_id bigint NOT NULL {n_distinct=100}
column payment_note.seq bigint NOT NULL
column payment_note.kind text NOT NULL
column payment_note.actor text NOT NULL
column payment_note.text text NOT NULL
column payment_note.at bigint NOT NULL
column payment_note.bank_status text NOT NULL DEFAULT ''::text
column payment_note.day text
column payment_note.bank_requests text
constraint payment_note.payment_note_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_note.payment_note_domain_id_payment_id_fkey FOREIGN KEY (domain_id, payment_id) REFERENCES payment(domain_id, id)
constraint payment_note.payment_note_pkey PRIMARY KEY (payment_id, number)
CREATE UNIQUE INDEX payment_note_pkey ON payment_note USING btree (payment_id, number)
column payment_transition.payment_id bigint NOT NULL
column payment_transition.seq bigint NOT NULL
column payment_transition.domain_id bigint NOT NULL {n_distinct=100}
column payment_transition.previous_seq bigint
column payment_transition.from_state text
column payment_transition.to_state text NOT NULL
column payment_transition.cause text NOT NULL
column payment_transition.actor text NOT NULL
column payment_transition.bank_status text NOT NULL
column payment_transition.at bigint NOT NULL
column payment_transition.bank_requests text
constraint payment_transition.payment_transition_check CHECK ((((seq = 0) AND (previous_seq IS NULL) AND (from_state IS NULL) AND (to_state = 'created'::text)) OR ((seq > 0) AND (previous_seq IS NOT NULL) AND (previous_seq = (seq - 1)) AND (from_state IS NOT NULL))))
constraint payment_transition.payment_transition_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_transition.payment_transition_domain_id_payment_id_previous_seq_from__fkey FOREIGN KEY (domain_id, payment_id, previous_seq, from_state) REFERENCES payment_transition(domain_id, payment_id, seq, to_state)
constraint payment_transition.payment_transition_domain_id_payment_id_seq_to_state_key UNIQUE (domain_id, payment_id, seq, to_state)
constraint payment_transition.payment_transition_from_state_to_state_fkey FOREIGN KEY (from_state, to_state) REFERENCES payment_edge(from_state, to_state)
constraint payment_transition.payment_transition_pkey PRIMARY KEY (payment_id, seq)
CREATE UNIQUE INDEX payment_transition_domain_id_payment_id_seq_to_state_key ON payment_transition USING btree (domain_id, payment_id, seq, to_state)
CREATE UNIQUE INDEX payment_transition_pkey ON payment_transition USING btree (payment_id, seq)
CREATE TRIGGER payment_transition_stays BEFORE UPDATE ON payment_transition FOR EACH ROW EXECUTE FUNCTION payment_transition_stays()
column payment_word.domain_id bigint NOT NULL {n_distinct=100}
column payment_word.word text NOT NULL
column payment_word.registered bigint NOT NULL
column payment_word.payment_id bigint NOT NULL
constraint payment_word.payment_word_pkey PRIMARY KEY (domain_id, word, registered, payment_id)
CREATE UNIQUE INDEX payment_word_pkey ON payment_word USING btree (domain_id, word, registered, payment_id)
column payment_word_earlier.domain_id bigint NOT NULL {n_distinct=100}
column payment_word_earlier.before_id bigint NOT NULL
constraint payment_word_earlier.payment_word_earlier_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint payment_word_earlier.payment_word_earlier_pkey PRIMARY KEY (domain_id)
CREATE UNIQUE INDEX payment_word_earlier_pkey ON payment_word_earlier USING btree (domain_id)
column purge_place.domain_id bigint NOT NULL {n_distinct=100}
column purge_place.subject text NOT NULL
column purge_place.created bigint NOT NULL
column purge_place.last bigint NOT NULL
constraint purge_place.purge_place_pkey PRIMARY KEY (domain_id, subject)
CREATE UNIQUE INDEX purge_place_pkey ON purge_place USING btree (domain_id, subject)
column received.id bigint NOT NULL IDENTITY
column received.domain_id bigint NOT NULL {n_distinct=100}
column received.name text NOT NULL
column received.at bigint NOT NULL
column received.headers text NOT NULL
column received.body bytea NOT NULL
column received.verdict text NOT NULL
constraint received.received_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint received.received_pkey PRIMARY KEY (id)
CREATE INDEX received_by_domain ON received USING btree (domain_id, id)
CREATE UNIQUE INDEX received_pkey ON received USING btree (id)
column sandbox_order.domain_id bigint NOT NULL {n_distinct=100}
column sandbox_order.key text NOT NULL
column sandbox_order.version bigint NOT NULL
column sandbox_order.submissions bigint NOT NULL
column sandbox_order.body bytea NOT NULL
constraint sandbox_order.sandbox_order_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint sandbox_order.sandbox_order_pkey PRIMARY KEY (domain_id, key)
CREATE UNIQUE INDEX sandbox_order_pkey ON sandbox_order USING btree (domain_id, key)
column schema_migration.version bigint NOT NULL
column schema_migration.name text NOT NULL
column schema_migration.checksum text NOT NULL
column schema_migration.applied bigint NOT NULL
constraint schema_migration.schema_migration_pkey PRIMARY KEY (version)
CREATE UNIQUE INDEX schema_migration_pkey ON schema_migration USING btree (version)
column sealing.only_row bigint NOT NULL
column sealing.account_numbers boolean NOT NULL
constraint sealing.sealing_only_row_check CHECK ((only_row = 1))
constraint sealing.sealing_pkey PRIMARY KEY (only_row)
CREATE UNIQUE INDEX sealing_pkey ON sealing USING btree (only_row)
column sequence.name text NOT NULL
column sequence.next bigint NOT NULL
constraint sequence.sequence_next_check CHECK ((next > 0))
constraint sequence.sequence_pkey PRIMARY KEY (name)
CREATE UNIQUE INDEX sequence_pkey ON sequence USING btree (name)
column setting.domain_id bigint NOT NULL {n_distinct=100}
column setting.key text NOT NULL
column setting.value text NOT NULL
column setting.updated bigint NOT NULL
column setting.changed_by text NOT NULL DEFAULT ''::text
constraint setting.setting_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint setting.setting_pkey PRIMARY KEY (domain_id, key)
CREATE UNIQUE INDEX setting_pkey ON setting USING btree (domain_id, key)
column setting_change.id bigint NOT NULL IDENTITY
column setting_change.domain_id bigint NOT NULL {n_distinct=100}
column setting_change.key text NOT NULL
column setting_change.previous_value text
column setting_change.new_value text
column setting_change.type text NOT NULL
column setting_change.changed_by text NOT NULL
column setting_change.at bigint NOT NULL
constraint setting_change.setting_change_check CHECK (((type = 'add'::text) = (previous_value IS NULL)))
constraint setting_change.setting_change_check1 CHECK (((type = 'delete'::text) = (new_value IS NULL)))
constraint setting_change.setting_change_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint setting_change.setting_change_pkey PRIMARY KEY (id)
constraint setting_change.setting_change_type_check CHECK ((type = ANY (ARRAY['add'::text, 'update'::text, 'delete'::text])))
CREATE INDEX setting_change_by_time ON setting_change USING btree (domain_id, at, id)
CREATE INDEX setting_change_of_key ON setting_change USING btree (domain_id, key, at, id)
CREATE UNIQUE INDEX setting_change_pkey ON setting_change USING btree (id)
column sign_in_failure.subject bytea NOT NULL
column sign_in_failure.failures bigint NOT NULL
column sign_in_failure.latest bigint NOT NULL
column sign_in_failure.part_of bytea
constraint sign_in_failure.sign_in_failure_pkey PRIMARY KEY (subject)
CREATE INDEX sign_in_failure_by_age ON sign_in_failure USING btree (latest)
CREATE INDEX sign_in_failure_by_weight ON sign_in_failure USING btree (failures, latest)
CREATE INDEX sign_in_failure_part_of ON sign_in_failure USING btree (part_of) WHERE (part_of IS NOT NULL)
CREATE UNIQUE INDEX sign_in_failure_pkey ON sign_in_failure USING btree (subject)
column sign_key.id bigint NOT NULL IDENTITY
column sign_key.domain_id bigint NOT NULL {n_distinct=100}
column sign_key.number bigint NOT NULL
column sign_key.public text NOT NULL
column sign_key.private bytea NOT NULL
column sign_key.created bigint NOT NULL
column sign_key.deprecated boolean NOT NULL DEFAULT false
constraint sign_key.sign_key_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint sign_key.sign_key_domain_id_number_key UNIQUE (domain_id, number)
constraint sign_key.sign_key_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX sign_key_domain_id_number_key ON sign_key USING btree (domain_id, number)
CREATE UNIQUE INDEX sign_key_pkey ON sign_key USING btree (id)
column stored_file.id bigint NOT NULL IDENTITY
column stored_file.domain_id bigint NOT NULL {n_distinct=100}
column stored_file.user_id bigint NOT NULL
column stored_file.media_type text NOT NULL
column stored_file.size bigint NOT NULL
column stored_file.created bigint NOT NULL
column stored_file.stored bigint
column stored_file.uploaded boolean NOT NULL DEFAULT false
column stored_file.next_fetch bigint
column stored_file.failures bigint NOT NULL DEFAULT 0
column stored_file.lease_until bigint NOT NULL DEFAULT 0
column stored_file.due bigint
column stored_file.connector text
column stored_file.sealed_key bytea
constraint stored_file.stored_file_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint stored_file.stored_file_pkey PRIMARY KEY (id)
CREATE INDEX stored_file_due ON stored_file USING btree (due) WHERE (due IS NOT NULL)
CREATE INDEX stored_file_of_user ON stored_file USING btree (domain_id, user_id, id)
CREATE UNIQUE INDEX stored_file_pkey ON stored_file USING btree (id)
CREATE INDEX stored_file_to_fetch ON stored_file USING btree (connector, domain_id, next_fetch) WHERE (next_fetch IS NOT NULL)
column subscription.id bigint NOT NULL IDENTITY
column subscription.domain_id bigint NOT NULL {n_distinct=100}
column subscription.user_id bigint NOT NULL
column subscription.connection_id bigint NOT NULL
column subscription.source_id bigint
column subscription.key text NOT NULL
column subscription.details text NOT NULL
column subscription.digest bigint NOT NULL
column subscription.disabled bigint
column subscription.deleted bigint
column subscription.last_update bigint
column subscription.error text
column subscription.epoch bigint NOT NULL DEFAULT 0
column subscription.documents bigint NOT NULL DEFAULT 0
column subscription.changed bigint NOT NULL DEFAULT 0
column subscription.readings bigint NOT NULL DEFAULT 0
constraint subscription.subscription_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
constraint subscription.subscription_connection_id_key_key UNIQUE (connection_id, key)
constraint subscription.subscription_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint subscription.subscription_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX subscription_connection_id_key_key ON subscription USING btree (connection_id, key)
CREATE INDEX subscription_of_connection ON subscription USING btree (connection_id, id)
CREATE INDEX subscription_of_user ON subscription USING btree (domain_id, user_id, id)
CREATE UNIQUE INDEX subscription_pkey ON subscription USING btree (id)
column terms.id bigint NOT NULL IDENTITY
column terms.domain_id bigint NOT NULL {n_distinct=100}
column terms.version text NOT NULL
column terms.created bigint NOT NULL
column terms.deleted bigint
constraint terms.terms_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint terms.terms_domain_id_version_key UNIQUE (domain_id, version)
constraint terms.terms_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX terms_domain_id_version_key ON terms USING btree (domain_id, version)
CREATE UNIQUE INDEX terms_in_force ON terms USING btree (domain_id) WHERE (deleted IS NULL)
CREATE UNIQUE INDEX terms_pkey ON terms USING btree (id)
column terms_text.terms_id bigint NOT NULL
column terms_text.language text NOT NULL
column terms_text.content text NOT NULL
constraint terms_text.terms_text_pkey PRIMARY KEY (terms_id, language)
constraint terms_text.terms_text_terms_id_fkey FOREIGN KEY (terms_id) REFERENCES terms(id)
CREATE UNIQUE INDEX terms_text_pkey ON terms_text USING btree (terms_id, language)
column token.id bigint NOT NULL IDENTITY
column token.domain_id bigint NOT NULL {n_distinct=100}
column token.client_id bigint
column token.kind text NOT NULL
column token.hash bytea NOT NULL
column token.scopes text NOT NULL
column token.user_id bigint
column token.payment_id bigint
column token.created bigint NOT NULL
column token.expires bigint
column token.revoked bigint
column token.single boolean NOT NULL DEFAULT false
column token.last_used bigint
constraint token.token_check CHECK (((kind = 'payment'::text) = (payment_id IS NOT NULL)))
constraint token.token_domain_id_client_id_fkey FOREIGN KEY (domain_id, client_id) REFERENCES client(domain_id, id)
constraint token.token_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint token.token_hash_key UNIQUE (hash)
constraint token.token_kind_check CHECK ((kind = ANY (ARRAY['user'::text, 'code'::text, 'service'::text, 'payment'::text, 'config'::text, 'users'::text])))
constraint token.token_pkey PRIMARY KEY (id)
CREATE INDEX token_by_domain ON token USING btree (domain_id, id)
CREATE INDEX token_by_expiry ON token USING btree (expires) WHERE (expires IS NOT NULL)
CREATE INDEX token_by_payment ON token USING btree (domain_id, payment_id) WHERE (payment_id IS NOT NULL)
CREATE INDEX token_by_user ON token USING btree (domain_id, user_id, id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX token_hash_key ON token USING btree (hash)
CREATE INDEX token_of_program ON token USING btree (domain_id, id) WHERE (kind = ANY (ARRAY['config'::text, 'users'::text]))
CREATE UNIQUE INDEX token_pkey ON token USING btree (id)
column transaction_cluster.id bigint NOT NULL IDENTITY
column transaction_cluster.domain_id bigint NOT NULL {n_distinct=100}
column transaction_cluster.user_id bigint NOT NULL
column transaction_cluster.account_id bigint NOT NULL
column transaction_cluster.epoch bigint NOT NULL
column transaction_cluster.key text
column transaction_cluster.wording text NOT NULL
column transaction_cluster.mean text NOT NULL
column transaction_cluster.increment bigint NOT NULL
column transaction_cluster.next_date text
column transaction_cluster.category bigint NOT NULL
column transaction_cluster.enabled boolean NOT NULL
column transaction_cluster.deleted bigint
constraint transaction_cluster.transaction_cluster_account_id_epoch_key_key UNIQUE (account_id, epoch, key)
constraint transaction_cluster.transaction_cluster_pkey PRIMARY KEY (id)
CREATE INDEX cluster_of_account ON transaction_cluster USING btree (account_id, epoch, id)
CREATE INDEX cluster_of_user ON transaction_cluster USING btree (domain_id, user_id, id)
CREATE UNIQUE INDEX transaction_cluster_account_id_epoch_key_key ON transaction_cluster USING btree (account_id, epoch, key)
CREATE UNIQUE INDEX transaction_cluster_pkey ON transaction_cluster USING btree (id)
column transaction_document.id bigint NOT NULL IDENTITY
column transaction_document.domain_id bigint NOT NULL {n_distinct=100}
column transaction_document.user_id bigint NOT NULL
column transaction_document.account_id bigint NOT NULL
column transaction_document.account_epoch bigint NOT NULL
column transaction_document.transaction_id bigint NOT NULL
column transaction_document.subscription_id bigint NOT NULL
column transaction_document.subscription_epoch bigint NOT NULL
column transaction_document.document_id bigint NOT NULL
constraint transaction_document.transaction_document_pkey PRIMARY KEY (id)
constraint transaction_document.transaction_document_transaction_id_document_id_key UNIQUE (transaction_id, document_id)
CREATE INDEX transaction_document_of_account ON transaction_document USING btree (account_id, account_epoch)
CREATE INDEX transaction_document_of_subscription ON transaction_document USING btree (subscription_id, subscription_epoch)
CREATE UNIQUE INDEX transaction_document_pkey ON transaction_document USING btree (id)
CREATE UNIQUE INDEX transaction_document_transaction_id_document_id_key ON transaction_document USING btree (transaction_id, document_id)
column transaction_information.id bigint NOT NULL IDENTITY
column transaction_information.domain_id bigint NOT NULL {n_distinct=100}
column transaction_information.account_id bigint NOT NULL
column transaction_information.epoch bigint NOT NULL
column transaction_information.transaction_id bigint NOT NULL
column transaction_information.key text NOT NULL
column transaction_information.value text NOT NULL
constraint transaction_information.transaction_information_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint transaction_information.transaction_information_pkey PRIMARY KEY (id)
constraint transaction_information.transaction_information_transaction_id_key_key UNIQUE (transaction_id, key)
CREATE INDEX information_of_account ON transaction_information USING btree (account_id, epoch, id)
CREATE UNIQUE INDEX transaction_information_pkey ON transaction_information USING btree (id)
CREATE UNIQUE INDEX transaction_information_transaction_id_key_key ON transaction_information USING btree (transaction_id, key)
column unit_mark.slot bigint NOT NULL
column unit_mark.unit bigint NOT NULL
column unit_mark.at bigint NOT NULL
constraint unit_mark.unit_mark_pkey PRIMARY KEY (slot)
CREATE UNIQUE INDEX unit_mark_pkey ON unit_mark USING btree (slot)
column user_setting.user_id bigint NOT NULL
column user_setting.key text NOT NULL
column user_setting.value text NOT NULL
column user_setting.domain_id bigint NOT NULL {n_distinct=100}
constraint user_setting.user_setting_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint user_setting.user_setting_pkey PRIMARY KEY (user_id, key)
constraint user_setting.user_setting_user_id_fkey FOREIGN KEY (user_id) REFERENCES end_user(id) ON DELETE CASCADE
CREATE UNIQUE INDEX user_setting_pkey ON user_setting USING btree (user_id, key)
column user_token.token_id bigint NOT NULL
column user_token.domain_id bigint NOT NULL {n_distinct=100}
column user_token.client_id bigint
column user_token.user_id bigint NOT NULL
column user_token.sealed bytea NOT NULL
column user_token.created bigint NOT NULL
constraint user_token.user_token_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint user_token.user_token_pkey PRIMARY KEY (token_id)
CREATE INDEX user_token_newest ON user_token USING btree (domain_id, user_id, client_id, created, token_id)
CREATE INDEX user_token_of_client ON user_token USING btree (client_id) WHERE (client_id IS NOT NULL)
CREATE UNIQUE INDEX user_token_pkey ON user_token USING btree (token_id)
column webhook.id bigint NOT NULL IDENTITY
column webhook.domain_id bigint NOT NULL {n_distinct=100}
column webhook.client_id bigint
column webhook.event text NOT NULL
column webhook.url text NOT NULL
column webhook.auth_id bigint
column webhook.created bigint NOT NULL
column webhook.updated bigint
column webhook.deleted bigint
column webhook.next_flush bigint
column webhook.flush_after bigint NOT NULL DEFAULT 0
column webhook.news_after bigint NOT NULL DEFAULT 0
column webhook.holder text NOT NULL DEFAULT ''::text
column webhook.lease_until bigint NOT NULL DEFAULT 0
column webhook.user_id bigint
column webhook.disabled bigint
column webhook.stopped boolean NOT NULL DEFAULT false
column webhook.consecutive_failures bigint NOT NULL DEFAULT 0
column webhook.last_success bigint
column webhook.last_failure bigint
column webhook.alerted bigint
column webhook.alarmed boolean NOT NULL DEFAULT false
column webhook.auth_deleted boolean NOT NULL DEFAULT false
column webhook.add_to_data text NOT NULL DEFAULT '{}'::text
constraint webhook.webhook_auth_id_fkey FOREIGN KEY (auth_id) REFERENCES auth_provider(id)
constraint webhook.webhook_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id)
constraint webhook.webhook_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint webhook.webhook_pkey PRIMARY KEY (id)
CREATE INDEX webhook_by_auth ON webhook USING btree (domain_id, auth_id, id) WHERE ((auth_id IS NOT NULL) AND (deleted IS NULL))
CREATE INDEX webhook_by_domain ON webhook USING btree (domain_id, id)
CREATE INDEX webhook_by_event ON webhook USING btree (domain_id, event) WHERE (deleted IS NULL)
CREATE INDEX webhook_deleted ON webhook USING btree (domain_id, deleted) WHERE (deleted IS NOT NULL)
CREATE INDEX webhook_in_use ON webhook USING btree (domain_id, id) WHERE ((deleted IS NULL) AND (disabled IS NULL))
CREATE UNIQUE INDEX webhook_pkey ON webhook USING btree (id)
CREATE INDEX webhook_to_flush ON webhook USING btree (domain_id, next_flush) WHERE ((next_flush IS NOT NULL) AND (deleted IS NULL))
column webhook_health.webhook_id bigint NOT NULL
column webhook_health.hour bigint NOT NULL
column webhook_health.domain_id bigint NOT NULL {n_distinct=100}
column webhook_health.requests bigint NOT NULL
column webhook_health.successes bigint NOT NULL
column webhook_health.duration bigint NOT NULL
column webhook_health.reached bigint NOT NULL DEFAULT 0
constraint webhook_health.webhook_health_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint webhook_health.webhook_health_pkey PRIMARY KEY (webhook_id, hour)
constraint webhook_health.webhook_health_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id)
CREATE INDEX webhook_health_by_age ON webhook_health USING btree (domain_id, hour)
CREATE UNIQUE INDEX webhook_health_pkey ON webhook_health USING btree (webhook_id, hour)
column withdrawal.id bigint NOT NULL IDENTITY
column withdrawal.domain_id bigint NOT NULL {n_distinct=100}
column withdrawal.kind text NOT NULL
column withdrawal.subject_id bigint NOT NULL
column withdrawal.epoch bigint
column withdrawal.created bigint NOT NULL
column withdrawal.user_id bigint
constraint withdrawal.withdrawal_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domain(id)
constraint withdrawal.withdrawal_kind_check CHECK ((kind = ANY (ARRAY['connection'::text, 'account'::text, 'subscription'::text])))
constraint withdrawal.withdrawal_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX withdrawal_pkey ON withdrawal USING btree (id)
CREATE OR REPLACE FUNCTION audit_stays()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'the audit log is never rewritten' USING ERRCODE = 'check_violation';
END $function$

CREATE OR REPLACE FUNCTION payment_evidence_stays()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'evidence is never rewritten' USING ERRCODE = 'check_violation';
END $function$

CREATE OR REPLACE FUNCTION payment_moves_forward()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'a payment goes forward, version by version' USING ERRCODE = 'check_violation';
END $function$

CREATE OR REPLACE FUNCTION payment_transition_stays()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'the history of a payment is never rewritten' USING ERRCODE = 'check_violation';
END $function$

