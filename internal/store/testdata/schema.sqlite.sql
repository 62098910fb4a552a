CREATE TABLE asset (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT NOT NULL,
  user_id     BIGINT NOT NULL,
  account_id  BIGINT NOT NULL,
  epoch       BIGINT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('investment', 'market_order', 'pocket', 'amortization')),
  -- The kind and the institution's name of it; of a pocket also that of its investment.
  key         TEXT NOT NULL,
  parent_key  TEXT,
  -- The day that what the institution says is of.
  date        TEXT,
  details     TEXT NOT NULL,
  digest      BIGINT NOT NULL,
  -- What it said of an earlier day.
  previous    TEXT,
  created     BIGINT NOT NULL,
  last_update BIGINT NOT NULL,
  deleted     BIGINT,
  changed     BIGINT NOT NULL,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX asset_of_account ON asset (account_id, epoch, kind, id);
CREATE INDEX asset_of_user ON asset (domain_id, user_id, kind, id);
CREATE TABLE attachment (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id      BIGINT NOT NULL,
  user_id        BIGINT NOT NULL,
  account_id     BIGINT NOT NULL,
  epoch          BIGINT NOT NULL,
  transaction_id BIGINT NOT NULL,
  key            TEXT NOT NULL,
  name           TEXT NOT NULL,
  description    TEXT NOT NULL,
  file_id        BIGINT NOT NULL REFERENCES stored_file (id),
  created        BIGINT NOT NULL,
  last_update    BIGINT NOT NULL,
  changed        BIGINT NOT NULL,
  UNIQUE (transaction_id, key)
);
CREATE INDEX attachment_changed ON attachment (account_id, epoch, changed, transaction_id);
CREATE INDEX attachment_of_file ON attachment (file_id);
CREATE TABLE attempt (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  payment_id     BIGINT NOT NULL,
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  number         BIGINT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind IN ('initiation', 'answer', 'cancellation')),
  key            TEXT UNIQUE,
  connector_uuid TEXT,
  mechanism      TEXT,
  fields         BLOB,
  waits          BOOLEAN,
  action         TEXT,
  actor          TEXT,
  agreed         BOOLEAN,
  state          TEXT NOT NULL CHECK (state IN ('open', 'answered', 'unknown')),
  created        BIGINT NOT NULL,
  asked          BIGINT NOT NULL DEFAULT 0,
  lease_until    BIGINT NOT NULL, memory BLOB, device BLOB, trace TEXT, sent BIGINT, callback BLOB, unsent BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (payment_id, number),
  CHECK (number > 0 AND (number = 1) = (kind = 'initiation')),
  CHECK ((kind = 'initiation') = (key IS NOT NULL AND connector_uuid IS NOT NULL AND mechanism IS NOT NULL AND fields IS NOT NULL AND waits IS NOT NULL)),
  CHECK ((kind = 'answer') = (action IS NOT NULL AND agreed IS NOT NULL)),
  CHECK ((kind = 'initiation') = (actor IS NULL)),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE UNIQUE INDEX attempt_live ON attempt (payment_id) WHERE state <> 'answered';
CREATE INDEX attempt_unanswered ON attempt (domain_id, lease_until) WHERE state <> 'answered';
CREATE TRIGGER audit_begins_unchained BEFORE INSERT ON audit WHEN NEW.number IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'an act gets its place in the audit log afterwards');
END;
CREATE TRIGGER audit_stays BEFORE UPDATE OF id, domain_id, at, operator_id, session_id, request_id, act, subject, subject_id, refused ON audit
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TRIGGER audit_stays_chained BEFORE UPDATE ON audit WHEN OLD.number IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TRIGGER audit_stays_whole BEFORE DELETE ON audit
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TABLE audit (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT,
  at          BIGINT NOT NULL,
  operator_id BIGINT,
  session_id  BIGINT,
  request_id  TEXT NOT NULL,
  act         TEXT NOT NULL,
  subject     TEXT,
  subject_id  BIGINT,
  refused     BOOLEAN NOT NULL,
  number      BIGINT,
  previous    BLOB,
  hash        BLOB,
  CHECK ((subject IS NULL) = (subject_id IS NULL)),
  CHECK ((number IS NULL) = (hash IS NULL) AND (number IS NULL OR previous IS NOT NULL))
);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE UNIQUE INDEX audit_chain ON audit (COALESCE(domain_id, 0), number) WHERE number IS NOT NULL;
CREATE INDEX audit_of_domain ON audit (domain_id, at, id);
CREATE INDEX audit_of_operator ON audit (operator_id, at, id);
CREATE INDEX audit_of_request ON audit (request_id);
CREATE INDEX audit_of_subject ON audit (subject, subject_id, at, id) WHERE subject IS NOT NULL;
CREATE INDEX audit_to_chain ON audit (COALESCE(domain_id, 0), id) WHERE number IS NULL;
CREATE TRIGGER audit_end_goes_on BEFORE UPDATE ON audit_end WHEN NEW.chain <> OLD.chain OR NEW.number <= OLD.number
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TRIGGER audit_end_stays BEFORE DELETE ON audit_end
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TABLE audit_end (
  chain  BIGINT NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL CHECK (number > 0),
  hash   BLOB NOT NULL
);
CREATE TABLE audit_turn (
  only_row    BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  holder      TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);
CREATE TABLE "auth_provider" (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  type        TEXT NOT NULL CHECK (type IN ('hmac_signature', 'oauth')),
  name        TEXT NOT NULL,
  secret      BLOB NOT NULL,
  next_secret BLOB,
  next_from   BIGINT,
  config      BLOB,
  created     BIGINT NOT NULL,
  updated     BIGINT,
  deleted     BIGINT,
  CHECK ((next_secret IS NULL) = (next_from IS NULL)),
  CHECK ((type = 'oauth') = (config IS NOT NULL))
);
CREATE UNIQUE INDEX auth_provider_name ON auth_provider (domain_id, name) WHERE deleted IS NULL;
CREATE TABLE bank_account (
  id                   INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id            BIGINT NOT NULL REFERENCES domain (id),
  user_id              BIGINT NOT NULL,
  connection_id        BIGINT NOT NULL REFERENCES connection (id),
  source_id            BIGINT,
  parent_id            BIGINT,
  key                  TEXT NOT NULL,
  type                 TEXT NOT NULL,
  -- What the institution says, as JSON: it is read whole and never searched.
  details              TEXT NOT NULL,
  digest               BIGINT NOT NULL,
  custom_name          TEXT,
  display              BOOLEAN NOT NULL DEFAULT TRUE,
  bookmarked           BOOLEAN NOT NULL DEFAULT FALSE,
  usage                TEXT,
  disabled             BIGINT,
  deleted              BIGINT,
  last_update          BIGINT,
  error                TEXT,
  covered_from         TEXT,
  epoch                BIGINT NOT NULL DEFAULT 0,
  -- Transactions of the epoch: those that are there, and those that are gone
  -- at the institution.
  transactions         BIGINT NOT NULL DEFAULT 0,
  deleted_transactions BIGINT NOT NULL DEFAULT 0,
  -- The sync that last changed it.
  changed              BIGINT NOT NULL DEFAULT 0, worth TEXT, readings BIGINT NOT NULL DEFAULT 0,
  UNIQUE (connection_id, key)
);
CREATE INDEX bank_account_of_connection ON bank_account (connection_id, id);
CREATE INDEX bank_account_of_user ON bank_account (domain_id, user_id, id);
CREATE TABLE bank_disturbance (
  process   TEXT NOT NULL,
  connector TEXT NOT NULL,
  until     BIGINT NOT NULL,
  PRIMARY KEY (process, connector)
);
CREATE TABLE bank_transaction (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id        BIGINT NOT NULL,
  user_id          BIGINT NOT NULL,
  account_id       BIGINT NOT NULL,
  epoch            BIGINT NOT NULL,
  key              TEXT NOT NULL,
  date             TEXT NOT NULL,
  application_date TEXT NOT NULL,
  -- Signed, as a coefficient and the number of its digits after the point.
  value            BIGINT NOT NULL,
  value_scale      BIGINT NOT NULL,
  wording          TEXT NOT NULL,
  custom_wording   TEXT,
  comment          TEXT,
  moved            BOOLEAN NOT NULL DEFAULT FALSE,
  active           BOOLEAN NOT NULL DEFAULT TRUE,
  coming           BOOLEAN NOT NULL,
  categories       TEXT,
  cluster_id       BIGINT,
  details          TEXT NOT NULL,
  digest           BIGINT NOT NULL,
  scraped          BIGINT NOT NULL,
  last_update      BIGINT NOT NULL,
  deleted          BIGINT,
  changed          BIGINT NOT NULL, folded TEXT NOT NULL DEFAULT '', custom_folded TEXT, connection_id BIGINT NOT NULL DEFAULT 0, manual BOOLEAN NOT NULL DEFAULT FALSE, booked BIGINT,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX transaction_changed ON bank_transaction (account_id, epoch, changed, id);
CREATE INDEX transaction_manual ON bank_transaction (account_id, epoch) WHERE manual;
CREATE INDEX transaction_of_account ON bank_transaction (account_id, epoch, application_date, id);
CREATE INDEX transaction_of_account_by_date ON bank_transaction (account_id, epoch, date, id);
CREATE INDEX transaction_of_cluster ON bank_transaction (cluster_id) WHERE cluster_id IS NOT NULL;
CREATE INDEX transaction_of_connection ON bank_transaction (connection_id, application_date, id);
CREATE INDEX transaction_of_connection_by_date ON bank_transaction (connection_id, date, id);
CREATE INDEX transaction_of_user ON bank_transaction (domain_id, user_id, application_date, id);
CREATE INDEX transaction_of_user_by_date ON bank_transaction (domain_id, user_id, date, id);
CREATE TABLE category (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  user_id    BIGINT NOT NULL REFERENCES end_user (id) ON DELETE CASCADE,
  parent_id  BIGINT,
  name       TEXT NOT NULL,
  income     BOOLEAN NOT NULL,
  refundable BOOLEAN NOT NULL,
  color      TEXT
);
CREATE INDEX category_of_user ON category (user_id, id);
CREATE TABLE client (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  name          TEXT NOT NULL,
  secret_hash   BLOB NOT NULL,
  redirect_uris TEXT NOT NULL,
  created       BIGINT NOT NULL,
  deleted       BIGINT
, config TEXT NOT NULL DEFAULT '{}', primary_color TEXT, secondary_color TEXT, description TEXT, description_banks TEXT, description_providers TEXT, pro BOOLEAN NOT NULL DEFAULT FALSE, private_key BLOB, public_key TEXT, last_used BIGINT);
CREATE UNIQUE INDEX client_by_domain ON client (domain_id, id);
CREATE TABLE client_logo (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  client_id  BIGINT NOT NULL UNIQUE REFERENCES client (id),
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  media_type TEXT NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg')),
  content    BLOB NOT NULL,
  created    BIGINT NOT NULL
);
CREATE TABLE connection (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id       BIGINT NOT NULL REFERENCES domain (id),
  user_id         BIGINT NOT NULL,
  connector_uuid  TEXT NOT NULL,
  created         BIGINT NOT NULL,
  state           TEXT,
  message         TEXT,
  -- What the institution asks for, as JSON, and where it sends the person.
  fields          TEXT,
  url             TEXT,
  active          BOOLEAN NOT NULL DEFAULT TRUE,
  established     BIGINT,
  last_update     BIGINT,
  last_push       BIGINT,
  -- When it is removed unless it is established before.
  expire          BIGINT,
  next_try        BIGINT,
  consent_until   BIGINT,
  failures        BIGINT NOT NULL DEFAULT 0,
  -- Reads without the person since an instant, at most a day ago.
  unattended_from BIGINT NOT NULL DEFAULT 0,
  unattended      BIGINT NOT NULL DEFAULT 0,
  credentials     BLOB NOT NULL,
  memory          BLOB,
  -- The version of its last event, and the number of its last sync.
  version         BIGINT NOT NULL DEFAULT 0,
  sync            BIGINT NOT NULL DEFAULT 0,
  holder          TEXT NOT NULL DEFAULT '',
  lease_until     BIGINT NOT NULL DEFAULT 0,
  deleted         BIGINT
, read_soon BOOLEAN NOT NULL DEFAULT FALSE, terminate BIGINT);
CREATE INDEX connection_due ON connection (domain_id, next_try) WHERE next_try IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_in_trouble ON connection (domain_id, state, id) WHERE state IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_in_trouble_at ON connection (domain_id, connector_uuid, state, id) WHERE state IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_lapsing ON connection (domain_id, consent_until)
  WHERE consent_until IS NOT NULL AND deleted IS NULL AND (state IS NULL OR state NOT IN ('SCARequired', 'webauthRequired'));
CREATE INDEX connection_of_connector ON connection (domain_id, connector_uuid, id) WHERE deleted IS NULL;
CREATE INDEX connection_of_user ON connection (domain_id, user_id, id) WHERE deleted IS NULL;
CREATE INDEX connection_terminating ON connection (domain_id, terminate, id) WHERE terminate IS NOT NULL AND deleted IS NOT NULL;
CREATE INDEX connection_unfinished ON connection (domain_id, expire) WHERE expire IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_well ON connection (domain_id, id) WHERE state IS NULL AND deleted IS NULL;
CREATE TABLE connection_log (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  connection_id BIGINT NOT NULL REFERENCES connection (id),
  source_id     BIGINT,
  started       BIGINT NOT NULL,
  at            BIGINT NOT NULL,
  next_try      BIGINT,
  state         TEXT,
  message       TEXT,
  accounts      BIGINT NOT NULL,
  attended      BOOLEAN NOT NULL
);
CREATE INDEX connection_log_by_time ON connection_log (connection_id, at, id);
CREATE INDEX connection_log_of_user ON connection_log (domain_id, user_id, at, id);
CREATE TABLE connection_return (
  connection_id BIGINT PRIMARY KEY REFERENCES connection (id),
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  -- What the address of the way back has to carry, once.
  nonce         BLOB NOT NULL,
  -- Where the client wants the person in the end, and what to bring it.
  redirect_uri  TEXT,
  client_state  TEXT
);
CREATE INDEX connection_return_of_user ON connection_return (domain_id, user_id);
CREATE TABLE connection_source (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id        BIGINT NOT NULL REFERENCES domain (id),
  connection_id    BIGINT NOT NULL REFERENCES connection (id),
  connector_source BIGINT NOT NULL,
  name             TEXT NOT NULL,
  state            TEXT,
  created          BIGINT NOT NULL,
  last_update      BIGINT,
  disabled         BIGINT,
  access_expire    BIGINT,
  expire           BIGINT,
  next_try         BIGINT,
  UNIQUE (connection_id, name)
);
CREATE TABLE connector_name (
  uuid TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL
);
CREATE TABLE connector_program (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid    TEXT NOT NULL,
  address TEXT NOT NULL,
  secret  BLOB NOT NULL,
  profile TEXT NOT NULL,
  added   BIGINT NOT NULL
);
CREATE UNIQUE INDEX connector_program_by_uuid ON connector_program (uuid);
CREATE TABLE "consent" (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id       BIGINT NOT NULL REFERENCES domain (id),
  user_id         BIGINT NOT NULL,
  connection_id   BIGINT NOT NULL,
  account_id      BIGINT,
  subscription_id BIGINT,
  text_version    TEXT NOT NULL,
  origin          TEXT NOT NULL,
  given           BIGINT NOT NULL,
  withdrawn       BIGINT,
  CHECK (account_id IS NULL OR subscription_id IS NULL)
);
CREATE INDEX consent_of_account ON consent (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX consent_of_connection ON consent (connection_id, id);
CREATE INDEX consent_of_subscription ON consent (subscription_id) WHERE subscription_id IS NOT NULL;
CREATE INDEX consent_of_user ON consent (domain_id, user_id, given, id);
CREATE TABLE console_session (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  operator_id BIGINT NOT NULL REFERENCES operator (id),
  token_hash  BLOB NOT NULL UNIQUE,
  csrf        BLOB NOT NULL,
  stage       TEXT NOT NULL CHECK (stage IN ('waiting', 'single', 'double')),
  created     BIGINT NOT NULL,
  seen        BIGINT NOT NULL,
  expires     BIGINT NOT NULL,
  revoked     BIGINT
);
CREATE INDEX console_session_by_expiry ON console_session (expires);
CREATE INDEX console_session_of_operator ON console_session (operator_id, id) WHERE revoked IS NULL;
CREATE TABLE counter (
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  name      TEXT NOT NULL,
  shard     BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  PRIMARY KEY (domain_id, name, shard)
);
CREATE TABLE delivery (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  webhook_id  BIGINT NOT NULL REFERENCES webhook (id),
  event_id    BIGINT NOT NULL REFERENCES event (id),
  subject     TEXT NOT NULL,
  subject_id  BIGINT NOT NULL,
  version     BIGINT NOT NULL,
  created     BIGINT NOT NULL,
  attempts    BIGINT NOT NULL DEFAULT 0,
  delivered   BIGINT
, not_before BIGINT NOT NULL DEFAULT 0, dropped BIGINT, drop_reason TEXT);
CREATE INDEX delivery_earlier ON delivery ((webhook_id + 0), subject, subject_id, version)
  WHERE COALESCE(dropped, delivered) IS NULL;
CREATE INDEX delivery_held_back ON delivery (domain_id, subject, subject_id, version) WHERE delivered IS NULL AND dropped IS NULL AND not_before > 0;
CREATE INDEX delivery_held_until ON delivery (domain_id, not_before, id) WHERE delivered IS NULL AND dropped IS NULL AND not_before > 0;
CREATE INDEX delivery_in_state ON delivery
  (webhook_id, (CASE WHEN delivered IS NOT NULL THEN 2 WHEN dropped IS NOT NULL THEN 1 ELSE 0 END), created, id);
CREATE INDEX delivery_of_event ON delivery (event_id);
CREATE INDEX delivery_order ON delivery (webhook_id, subject, subject_id, version) WHERE delivered IS NULL AND dropped IS NULL;
CREATE INDEX delivery_over ON delivery (domain_id, created, id) WHERE delivered IS NOT NULL OR dropped IS NOT NULL;
CREATE INDEX delivery_waiting ON delivery (webhook_id, (CASE WHEN attempts > 0 THEN 1 ELSE 0 END), id)
  WHERE delivered IS NULL AND dropped IS NULL;
CREATE TABLE delivery_attempt (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  webhook_id  BIGINT NOT NULL REFERENCES webhook (id),
  delivery_id BIGINT NOT NULL REFERENCES delivery (id),
  at          BIGINT NOT NULL,
  duration    BIGINT NOT NULL,
  status      BIGINT,
  failure     TEXT
, answer TEXT, detail TEXT, signed TEXT, signature TEXT, next_signature TEXT);
CREATE INDEX delivery_attempt_by_time ON delivery_attempt (webhook_id, at, id);
CREATE INDEX delivery_attempt_in_order ON delivery_attempt (delivery_id, at, id);
CREATE TABLE document (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id       BIGINT NOT NULL,
  user_id         BIGINT NOT NULL,
  subscription_id BIGINT NOT NULL,
  epoch           BIGINT NOT NULL,
  key             TEXT NOT NULL,
  type            TEXT NOT NULL,
  date            TEXT NOT NULL,
  -- Of a bill, as a coefficient and the number of its digits after the point.
  total           BIGINT,
  total_scale     BIGINT,
  details         TEXT NOT NULL,
  digest          BIGINT NOT NULL,
  file_id         BIGINT REFERENCES stored_file (id),
  found           BIGINT NOT NULL,
  last_update     BIGINT NOT NULL,
  deleted         BIGINT,
  changed         BIGINT NOT NULL, readonly BOOLEAN NOT NULL DEFAULT FALSE, custom_type TEXT, custom_name TEXT, custom_date TEXT, custom_due TEXT, custom_total TEXT, custom_untaxed TEXT, custom_vat TEXT, custom_income BOOLEAN, category BIGINT, connection_id BIGINT NOT NULL DEFAULT 0, manual BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (subscription_id, epoch, key)
);
CREATE INDEX document_changed ON document (subscription_id, epoch, changed, id);
CREATE INDEX document_of_connection ON document (connection_id, date, id);
CREATE INDEX document_of_file ON document (file_id) WHERE file_id IS NOT NULL;
CREATE INDEX document_of_subscription ON document (subscription_id, epoch, date, id);
CREATE INDEX document_of_user ON document (domain_id, user_id, date, id);
CREATE TABLE document_type (
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  number     BIGINT NOT NULL,
  name       TEXT,
  attachable BOOLEAN,
  PRIMARY KEY (domain_id, number)
);
CREATE TABLE domain (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL UNIQUE,
  kind         TEXT NOT NULL CHECK (kind IN ('sandbox', 'live')),
  host         TEXT NOT NULL UNIQUE,
  base_url     TEXT NOT NULL,
  created      BIGINT NOT NULL,
  clock_offset BIGINT NOT NULL DEFAULT 0,
  clock_frozen BIGINT,
  CHECK (kind = 'sandbox' OR (clock_offset = 0 AND clock_frozen IS NULL))
);
CREATE TABLE end_user (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  platform  TEXT NOT NULL,
  created   BIGINT NOT NULL,
  permanent BIGINT,
  expires   BIGINT,
  version   BIGINT NOT NULL,
  CHECK ((permanent IS NULL) = (expires IS NOT NULL))
);
CREATE UNIQUE INDEX end_user_by_domain ON end_user (domain_id, id);
CREATE INDEX end_user_by_expiry ON end_user (domain_id, expires) WHERE expires IS NOT NULL;
CREATE TABLE erasure (
  user_id   BIGINT NOT NULL PRIMARY KEY,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  since     BIGINT NOT NULL,
  due       BIGINT NOT NULL
);
CREATE INDEX erasure_due ON erasure (domain_id, due);
CREATE TABLE event (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id    BIGINT NOT NULL REFERENCES domain (id),
  name         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  subject_id   BIGINT NOT NULL,
  version      BIGINT NOT NULL,
  body         BLOB NOT NULL,
  created      BIGINT NOT NULL, user_id BIGINT, held BOOLEAN NOT NULL DEFAULT FALSE, media_type TEXT NOT NULL DEFAULT 'application/json', omitted BIGINT NOT NULL DEFAULT 0, parted BIGINT NOT NULL DEFAULT 0, erased BIGINT, holds TEXT, account_id BIGINT, trace TEXT,
  UNIQUE (domain_id, subject, subject_id, name, version)
);
CREATE INDEX event_by_age ON event (domain_id, created, id);
CREATE INDEX event_held ON event (domain_id, user_id, id) WHERE held;
CREATE INDEX event_holding ON event (domain_id, user_id, id) WHERE holds IS NOT NULL AND erased IS NULL;
CREATE INDEX event_of_user ON event (domain_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE TABLE event_part (
  event_id  BIGINT NOT NULL,
  number    BIGINT NOT NULL,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  body      BLOB NOT NULL,
  created   BIGINT NOT NULL,
  PRIMARY KEY (event_id, number)
);
CREATE INDEX event_part_by_age ON event_part (created, event_id);
CREATE TABLE field_key (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  number    BIGINT NOT NULL,
  kid       TEXT NOT NULL UNIQUE,
  private   BLOB NOT NULL,
  created   BIGINT NOT NULL,
  UNIQUE (domain_id, number)
);
CREATE TABLE idempotency (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id    BIGINT NOT NULL REFERENCES domain (id),
  token_id     BIGINT NOT NULL,
  key_hash     BLOB NOT NULL,
  request_hash BLOB NOT NULL,
  run          BIGINT NOT NULL,
  lease_until  BIGINT NOT NULL,
  subject      BIGINT,
  answer       BLOB,
  expires      BIGINT NOT NULL,
  UNIQUE (domain_id, token_id, key_hash)
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires);
CREATE TABLE instruction (
  id                         INTEGER PRIMARY KEY AUTOINCREMENT,
  payment_id                 BIGINT NOT NULL,
  position                   BIGINT NOT NULL,
  domain_id                  BIGINT NOT NULL REFERENCES domain (id),
  reference_id               TEXT NOT NULL,
  amount                     BIGINT NOT NULL CHECK (amount > 0),
  label                      TEXT NOT NULL,
  execution_date             TEXT,
  start_date                 TEXT,
  end_date                   TEXT,
  frequency                  TEXT,
  beneficiary_scheme         TEXT NOT NULL,
  beneficiary_identification TEXT NOT NULL,
  beneficiary_label          TEXT NOT NULL,
  beneficiary_issuer         TEXT,
  state                      TEXT CHECK (state IS NULL OR state IN ('pending', 'rejected', 'done', 'accepted')),
  error_code                 TEXT,
  error_description          TEXT,
  exec_date                  TEXT,
  -- The newest execution of a periodic line that was heard of.
  occurred                   TEXT,
  -- For lists of payments by what is in their lines: the payment's own instant
  -- of registration, and whether no line before this one has the same value,
  -- so that a payment is found once.
  registered                 BIGINT NOT NULL,
  new_beneficiary            BOOLEAN NOT NULL,
  new_reference              BOOLEAN NOT NULL, new_end BOOLEAN NOT NULL DEFAULT TRUE, label_folded TEXT NOT NULL DEFAULT '', label_shared BIGINT NOT NULL DEFAULT 0,
  UNIQUE (payment_id, position),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE INDEX instruction_of_beneficiary ON instruction (domain_id, beneficiary_identification, registered, payment_id) WHERE new_beneficiary;
CREATE INDEX instruction_of_end ON instruction
  (domain_id, substr(beneficiary_identification, length(beneficiary_identification) - 3), registered, payment_id) WHERE new_end;
CREATE INDEX instruction_of_label ON instruction (domain_id, label_folded, payment_id, label_shared);
CREATE INDEX instruction_of_reference ON instruction (domain_id, reference_id, registered, payment_id) WHERE new_reference;
CREATE TABLE investment_value (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id          BIGINT NOT NULL,
  account_id         BIGINT NOT NULL,
  epoch              BIGINT NOT NULL,
  investment_id      BIGINT NOT NULL,
  date               TEXT NOT NULL,
  value              TEXT NOT NULL,
  original_currency  TEXT,
  original_value     TEXT,
  UNIQUE (investment_id, date)
);
CREATE INDEX investment_value_of_account ON investment_value (account_id, epoch, id);
CREATE TABLE key_check (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  sealed   BLOB NOT NULL
);
CREATE TABLE last_backup (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  begun    BIGINT NOT NULL
);
CREATE TABLE mail (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  webhook_id  BIGINT REFERENCES webhook (id),
  kind        TEXT NOT NULL,
  recipient   TEXT NOT NULL,
  subject     TEXT NOT NULL,
  text        TEXT NOT NULL,
  created     BIGINT NOT NULL,
  attempts    BIGINT NOT NULL DEFAULT 0,
  next_try    BIGINT NOT NULL DEFAULT 0,
  lease_until BIGINT NOT NULL DEFAULT 0,
  failure     TEXT,
  sent        BIGINT
);
CREATE INDEX mail_by_domain ON mail (domain_id, id);
CREATE INDEX mail_unsent ON mail (next_try, id) WHERE sent IS NULL;
CREATE TABLE maintenance (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  since    BIGINT NOT NULL
);
CREATE TABLE operator (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL UNIQUE,
  role          TEXT NOT NULL CHECK (role IN ('viewer', 'developer', 'operator', 'administrator')),
  password      TEXT NOT NULL,
  totp          BLOB,
  totp_proposed BLOB,
  totp_step     BIGINT NOT NULL DEFAULT 0,
  created       BIGINT NOT NULL,
  disabled      BIGINT
);
CREATE TABLE operator_identity (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  operator_id BIGINT NOT NULL REFERENCES operator (id),
  issuer      TEXT NOT NULL,
  subject     TEXT NOT NULL,
  created     BIGINT NOT NULL,
  UNIQUE (issuer, subject),
  UNIQUE (operator_id, issuer)
);
CREATE TRIGGER payment_moves_forward BEFORE UPDATE OF seq, state, version ON payment
WHEN NEW.seq < OLD.seq OR NEW.version <> OLD.version + 1
BEGIN
  SELECT RAISE(ABORT, 'a payment goes forward, version by version');
END;
CREATE TABLE payment (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id           BIGINT NOT NULL REFERENCES domain (id),
  client_id           BIGINT NOT NULL,
  version             BIGINT NOT NULL,
  seq                 BIGINT NOT NULL,
  state               TEXT NOT NULL,
  state_detail        TEXT CHECK (state_detail IS NULL OR (state_detail = 'cancelling' AND state IN ('validating', 'pending'))),
  action              TEXT,
  error_code          TEXT,
  error_description   TEXT,
  fields              TEXT,
  validate_uri        TEXT,
  connector_uuid      TEXT,
  connector_name      TEXT,
  validate_mechanism  TEXT,
  website             TEXT,
  terms_version       TEXT,
  registered          BIGINT NOT NULL,
  validated           BIGINT,
  client_redirect_uri TEXT NOT NULL,
  client_state        TEXT NOT NULL,
  webview_url         TEXT,
  bank_payment_id     TEXT,
  payer_scheme        TEXT,
  payer_identification TEXT,
  payer_label         TEXT,
  payer_issuer        TEXT,
  -- Who asked for a cancellation, and where the payer goes after it.
  cancel_code         TEXT,
  cancel_redirect_uri TEXT,
  cancel_state        TEXT,
  currency            TEXT NOT NULL,
  date_type           TEXT NOT NULL,
  amount              BIGINT NOT NULL CHECK (amount > 0),
  instruction_count   BIGINT NOT NULL CHECK (instruction_count > 0),
  -- When the bank is to be asked next, in the domain's time, and the lease of
  -- the worker that asks, in the database's.
  next_check          BIGINT,
  check_lease         BIGINT NOT NULL DEFAULT 0,
  -- The instant from which the days to its expiry count; null for never.
  expires_from        BIGINT, returned BIGINT, source_id BIGINT, payer_number BLOB, beneficiary_numbers BLOB, bank_reports BIGINT NOT NULL DEFAULT 0,
  CHECK ((state = 'rejected') = (error_code IS NOT NULL)),
  CHECK ((connector_uuid IS NULL) = (connector_name IS NULL)),
  CHECK (state IN ('created', 'validating', 'pending') OR (action IS NULL AND validate_uri IS NULL AND next_check IS NULL AND expires_from IS NULL)),
  FOREIGN KEY (domain_id, client_id) REFERENCES client (domain_id, id),
  FOREIGN KEY (domain_id, id, seq, state) REFERENCES payment_transition (domain_id, payment_id, seq, to_state)
);
CREATE INDEX payment_by_amount ON payment (domain_id, amount, id);
CREATE INDEX payment_by_connector ON payment (domain_id, connector_name, id);
CREATE INDEX payment_by_date_type ON payment (domain_id, date_type, id);
CREATE UNIQUE INDEX payment_by_id ON payment (domain_id, id);
CREATE INDEX payment_by_lines ON payment (domain_id, instruction_count, id);
CREATE INDEX payment_by_registration ON payment (domain_id, registered, id);
CREATE INDEX payment_by_state ON payment (domain_id, state, id);
CREATE INDEX payment_by_validation ON payment (domain_id, validated, id);
CREATE INDEX payment_in_state ON payment (domain_id, state, registered, id);
CREATE INDEX payment_of_bank_id ON payment (domain_id, bank_payment_id, registered, id) WHERE bank_payment_id IS NOT NULL;
CREATE INDEX payment_of_client ON payment (domain_id, client_id, registered, id);
CREATE INDEX payment_of_connector ON payment (domain_id, connector_uuid, registered, id) WHERE connector_uuid IS NOT NULL;
CREATE INDEX payment_of_date_type ON payment (domain_id, date_type, registered, id);
CREATE INDEX payment_of_error ON payment (domain_id, error_code, registered, id) WHERE error_code IS NOT NULL;
CREATE INDEX payment_of_no_connector ON payment (domain_id, registered, id) WHERE connector_uuid IS NULL;
CREATE INDEX payment_of_payer ON payment (domain_id, payer_identification, registered, id) WHERE payer_identification IS NOT NULL;
CREATE INDEX payment_of_payer_end ON payment
  (domain_id, substr(payer_identification, length(payer_identification) - 3), registered, id) WHERE payer_identification IS NOT NULL;
CREATE INDEX payment_of_website ON payment (domain_id, website, registered, id) WHERE website IS NOT NULL;
CREATE INDEX payment_to_check ON payment (domain_id, next_check) WHERE next_check IS NOT NULL;
CREATE INDEX payment_to_expire ON payment (domain_id, expires_from) WHERE expires_from IS NOT NULL;
CREATE TABLE payment_edge (
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
CREATE TRIGGER payment_evidence_stays BEFORE UPDATE OF id, payment_id, domain_id, attempt, act, language, at ON payment_evidence
BEGIN
  SELECT RAISE(ABORT, 'evidence is never rewritten');
END;
CREATE TABLE payment_evidence (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  payment_id BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  attempt    BIGINT NOT NULL,
  act        TEXT NOT NULL CHECK (act IN ('order', 'fields', 'agree', 'refuse', 'cancel')),
  language   TEXT NOT NULL,
  shown      BLOB NOT NULL,
  at         BIGINT NOT NULL,
  UNIQUE (payment_id, attempt),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE TABLE payment_given (
  payment_id BIGINT NOT NULL PRIMARY KEY,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  fields     BLOB NOT NULL,
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE TABLE payment_identity (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  payment_id BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  role       TEXT NOT NULL CHECK (role IN ('payer', 'operator', 'beneficiary')),
  line       BIGINT NOT NULL,
  plain      TEXT NOT NULL,
  sensitive  BLOB NOT NULL, user_id BIGINT REFERENCES end_user (id) ON DELETE SET NULL,
  UNIQUE (payment_id, role, line),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE INDEX payment_identity_of_user ON payment_identity (user_id) WHERE user_id IS NOT NULL;
CREATE TABLE payment_name_earlier (
  domain_id BIGINT NOT NULL PRIMARY KEY REFERENCES domain (id),
  before_id BIGINT NOT NULL
);
CREATE TABLE payment_note (
  payment_id BIGINT NOT NULL,
  number     BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  seq        BIGINT NOT NULL,
  kind       TEXT NOT NULL,
  actor      TEXT NOT NULL,
  text       TEXT NOT NULL,
  at         BIGINT NOT NULL, bank_status TEXT NOT NULL DEFAULT '', day TEXT, bank_requests TEXT,
  PRIMARY KEY (payment_id, number),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE TRIGGER payment_transition_stays BEFORE UPDATE ON payment_transition
BEGIN
  SELECT RAISE(ABORT, 'the history of a payment is never rewritten');
END;
CREATE TABLE payment_transition (
  payment_id   BIGINT NOT NULL,
  seq          BIGINT NOT NULL,
  domain_id    BIGINT NOT NULL REFERENCES domain (id),
  previous_seq BIGINT,
  from_state   TEXT,
  to_state     TEXT NOT NULL,
  cause        TEXT NOT NULL,
  actor        TEXT NOT NULL,
  bank_status  TEXT NOT NULL,
  at           BIGINT NOT NULL, bank_requests TEXT,
  PRIMARY KEY (payment_id, seq),
  UNIQUE (domain_id, payment_id, seq, to_state),
  CHECK (
    (seq = 0 AND previous_seq IS NULL AND from_state IS NULL AND to_state = 'created') OR
    (seq > 0 AND previous_seq IS NOT NULL AND previous_seq = seq - 1 AND from_state IS NOT NULL)
  ),
  FOREIGN KEY (from_state, to_state) REFERENCES payment_edge (from_state, to_state),
  FOREIGN KEY (domain_id, payment_id, previous_seq, from_state) REFERENCES payment_transition (domain_id, payment_id, seq, to_state)
);
CREATE TABLE payment_word (
  domain_id  BIGINT NOT NULL,
  word       TEXT NOT NULL,
  registered BIGINT NOT NULL,
  payment_id BIGINT NOT NULL,
  PRIMARY KEY (domain_id, word, registered, payment_id)
) WITHOUT ROWID;
CREATE TABLE payment_word_earlier (
  domain_id BIGINT NOT NULL PRIMARY KEY REFERENCES domain (id),
  before_id BIGINT NOT NULL
);
CREATE TABLE purge_place (
  domain_id BIGINT NOT NULL,
  subject   TEXT NOT NULL,
  created   BIGINT NOT NULL,
  last      BIGINT NOT NULL,
  PRIMARY KEY (domain_id, subject)
);
CREATE TABLE received (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  name      TEXT NOT NULL,
  at        BIGINT NOT NULL,
  headers   TEXT NOT NULL,
  body      BLOB NOT NULL,
  verdict   TEXT NOT NULL
);
CREATE INDEX received_by_domain ON received (domain_id, id);
CREATE TABLE sandbox_order (
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  key         TEXT NOT NULL,
  version     BIGINT NOT NULL,
  submissions BIGINT NOT NULL,
  body        BLOB NOT NULL,
  PRIMARY KEY (domain_id, key)
);
CREATE TABLE schema_migration (
	version BIGINT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	checksum TEXT NOT NULL,
	applied BIGINT NOT NULL
);
CREATE TABLE sealing (
  only_row        BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  account_numbers BOOLEAN NOT NULL
);
CREATE TABLE sequence (
	name TEXT NOT NULL PRIMARY KEY,
	next BIGINT NOT NULL CHECK (next > 0)
);
CREATE TABLE setting (
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  updated   BIGINT NOT NULL, changed_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (domain_id, key)
);
CREATE TABLE setting_change (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  key            TEXT NOT NULL,
  previous_value TEXT,
  new_value      TEXT,
  type           TEXT NOT NULL CHECK (type IN ('add', 'update', 'delete')),
  -- "command", or a kind of credential and its id.
  changed_by     TEXT NOT NULL,
  at             BIGINT NOT NULL,
  CHECK ((type = 'add') = (previous_value IS NULL)),
  CHECK ((type = 'delete') = (new_value IS NULL))
);
CREATE INDEX setting_change_by_time ON setting_change (domain_id, at, id);
CREATE INDEX setting_change_of_key ON setting_change (domain_id, key, at, id);
CREATE TABLE sign_in_failure (
  subject  BLOB NOT NULL PRIMARY KEY,
  failures BIGINT NOT NULL,
  latest   BIGINT NOT NULL
, part_of BLOB);
CREATE INDEX sign_in_failure_by_age ON sign_in_failure (latest);
CREATE INDEX sign_in_failure_by_weight ON sign_in_failure (failures, latest);
CREATE INDEX sign_in_failure_part_of ON sign_in_failure (part_of) WHERE part_of IS NOT NULL;
CREATE TABLE sign_key (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  number     BIGINT NOT NULL,
  public     TEXT NOT NULL,
  private    BLOB NOT NULL,
  created    BIGINT NOT NULL,
  deprecated BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (domain_id, number)
);
CREATE TABLE stored_file (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  user_id    BIGINT NOT NULL,
  media_type TEXT NOT NULL,
  size       BIGINT NOT NULL,
  created    BIGINT NOT NULL
, stored BIGINT, uploaded BOOLEAN NOT NULL DEFAULT FALSE, next_fetch BIGINT, failures BIGINT NOT NULL DEFAULT 0, lease_until BIGINT NOT NULL DEFAULT 0, due BIGINT, connector TEXT, sealed_key BLOB);
CREATE INDEX stored_file_due ON stored_file (due) WHERE due IS NOT NULL;
CREATE INDEX stored_file_of_user ON stored_file (domain_id, user_id, id);
CREATE INDEX stored_file_to_fetch ON stored_file (connector, domain_id, next_fetch) WHERE next_fetch IS NOT NULL;
CREATE TABLE subscription (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  connection_id BIGINT NOT NULL REFERENCES connection (id),
  source_id     BIGINT,
  key           TEXT NOT NULL,
  details       TEXT NOT NULL,
  digest        BIGINT NOT NULL,
  disabled      BIGINT,
  deleted       BIGINT,
  last_update   BIGINT,
  error         TEXT,
  epoch         BIGINT NOT NULL DEFAULT 0,
  documents     BIGINT NOT NULL DEFAULT 0,
  changed       BIGINT NOT NULL DEFAULT 0, readings BIGINT NOT NULL DEFAULT 0,
  UNIQUE (connection_id, key)
);
CREATE INDEX subscription_of_connection ON subscription (connection_id, id);
CREATE INDEX subscription_of_user ON subscription (domain_id, user_id, id);
CREATE TABLE terms (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  version   TEXT NOT NULL,
  created   BIGINT NOT NULL,
  deleted   BIGINT,
  UNIQUE (domain_id, version)
);
CREATE UNIQUE INDEX terms_in_force ON terms (domain_id) WHERE deleted IS NULL;
CREATE TABLE terms_text (
  terms_id BIGINT NOT NULL REFERENCES terms (id),
  language TEXT NOT NULL,
  content  TEXT NOT NULL,
  PRIMARY KEY (terms_id, language)
);
CREATE TABLE token (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  client_id  BIGINT,
  kind       TEXT NOT NULL CHECK (kind IN ('user', 'code', 'service', 'payment', 'config', 'users')),
  hash       BLOB NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  user_id    BIGINT,
  payment_id BIGINT,
  created    BIGINT NOT NULL,
  expires    BIGINT,
  revoked    BIGINT, single BOOLEAN NOT NULL DEFAULT FALSE, last_used BIGINT,
  CHECK ((kind = 'payment') = (payment_id IS NOT NULL)),
  FOREIGN KEY (domain_id, client_id) REFERENCES client (domain_id, id)
);
CREATE INDEX token_by_domain ON token (domain_id, id);
CREATE INDEX token_by_expiry ON token (expires) WHERE expires IS NOT NULL;
CREATE INDEX token_by_payment ON token (domain_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX token_by_user ON token (domain_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX token_of_program ON token (domain_id, id) WHERE kind IN ('config', 'users');
CREATE TABLE transaction_cluster (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL,
  user_id    BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  epoch      BIGINT NOT NULL,
  -- What the labels have in common; one that a client made has none.
  key        TEXT,
  wording    TEXT NOT NULL,
  mean       TEXT NOT NULL,
  increment  BIGINT NOT NULL,
  next_date  TEXT,
  category   BIGINT NOT NULL,
  enabled    BOOLEAN NOT NULL,
  deleted    BIGINT,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX cluster_of_account ON transaction_cluster (account_id, epoch, id);
CREATE INDEX cluster_of_user ON transaction_cluster (domain_id, user_id, id);
CREATE TABLE transaction_document (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id          BIGINT NOT NULL,
  user_id            BIGINT NOT NULL,
  account_id         BIGINT NOT NULL,
  account_epoch      BIGINT NOT NULL,
  transaction_id     BIGINT NOT NULL,
  subscription_id    BIGINT NOT NULL,
  subscription_epoch BIGINT NOT NULL,
  document_id        BIGINT NOT NULL,
  UNIQUE (transaction_id, document_id)
);
CREATE INDEX transaction_document_of_account ON transaction_document (account_id, account_epoch);
CREATE INDEX transaction_document_of_subscription ON transaction_document (subscription_id, subscription_epoch);
CREATE TABLE transaction_information (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  account_id     BIGINT NOT NULL,
  epoch          BIGINT NOT NULL,
  transaction_id BIGINT NOT NULL,
  key            TEXT NOT NULL,
  value          TEXT NOT NULL,
  UNIQUE (transaction_id, key)
);
CREATE INDEX information_of_account ON transaction_information (account_id, epoch, id);
CREATE TABLE user_setting (
  user_id   BIGINT NOT NULL REFERENCES end_user (id) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  PRIMARY KEY (user_id, key)
);
CREATE TABLE user_token (
  token_id  BIGINT NOT NULL PRIMARY KEY,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  client_id BIGINT,
  user_id   BIGINT NOT NULL,
  sealed    BLOB NOT NULL,
  created   BIGINT NOT NULL
);
CREATE INDEX user_token_newest ON user_token (domain_id, user_id, client_id, created, token_id);
CREATE INDEX user_token_of_client ON user_token (client_id) WHERE client_id IS NOT NULL;
CREATE TABLE webhook (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  client_id  BIGINT REFERENCES client (id),
  event      TEXT NOT NULL,
  url        TEXT NOT NULL,
  auth_id    BIGINT REFERENCES auth_provider (id),
  created    BIGINT NOT NULL,
  updated    BIGINT,
  deleted    BIGINT,
  -- When the flusher is to try again what failed, in the domain's time; null
  -- when nothing has. Its place in the queue is kept between runs, so that
  -- one payload that always fails does not starve the rest.
  next_flush  BIGINT,
  flush_after BIGINT NOT NULL DEFAULT 0,
  -- While something is left to the flusher, deliveries up to this one are left
  -- to it as well, tried or not: most of them wait for one that failed, and
  -- looking at all of them for each new one would take ever longer.
  news_after  BIGINT NOT NULL DEFAULT 0,
  -- Who sends to this webhook now: one worker at a time, by the database's clock.
  holder      TEXT NOT NULL DEFAULT '',
  lease_until BIGINT NOT NULL DEFAULT 0
, user_id BIGINT, disabled BIGINT, stopped BOOLEAN NOT NULL DEFAULT FALSE, consecutive_failures BIGINT NOT NULL DEFAULT 0, last_success BIGINT, last_failure BIGINT, alerted BIGINT, alarmed BOOLEAN NOT NULL DEFAULT FALSE, auth_deleted BOOLEAN NOT NULL DEFAULT FALSE, add_to_data TEXT NOT NULL DEFAULT '{}');
CREATE INDEX webhook_by_auth ON webhook (domain_id, auth_id, id) WHERE auth_id IS NOT NULL AND deleted IS NULL;
CREATE INDEX webhook_by_domain ON webhook (domain_id, id);
CREATE INDEX webhook_by_event ON webhook (domain_id, event) WHERE deleted IS NULL;
CREATE INDEX webhook_deleted ON webhook (domain_id, deleted) WHERE deleted IS NOT NULL;
CREATE INDEX webhook_in_use ON webhook (domain_id, id) WHERE deleted IS NULL AND disabled IS NULL;
CREATE INDEX webhook_to_flush ON webhook (domain_id, next_flush) WHERE next_flush IS NOT NULL AND deleted IS NULL;
CREATE TABLE webhook_health (
  webhook_id BIGINT NOT NULL REFERENCES webhook (id),
  hour       BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  requests   BIGINT NOT NULL,
  successes  BIGINT NOT NULL,
  duration   BIGINT NOT NULL, reached BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook_id, hour)
);
CREATE INDEX webhook_health_by_age ON webhook_health (domain_id, hour);
CREATE TABLE withdrawal (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  kind       TEXT NOT NULL CHECK (kind IN ('connection', 'account', 'subscription')),
  subject_id BIGINT NOT NULL,
  epoch      BIGINT,
  created    BIGINT NOT NULL
, user_id BIGINT);
