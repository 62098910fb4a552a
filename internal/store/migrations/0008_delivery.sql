-- What delivery needs beyond sending: events of users, large bodies, deliveries
-- that wait for an instant or are given up, health, providers of every kind and
-- mails to the operator.

ALTER TABLE event ADD COLUMN user_id BIGINT;
-- An event of a temporary user is held: it gets its deliveries when the user
-- becomes permanent.
ALTER TABLE event ADD COLUMN held BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE event ADD COLUMN media_type TEXT NOT NULL DEFAULT 'application/json';
-- Accounts that a statement could not carry.
ALTER TABLE event ADD COLUMN omitted BIGINT NOT NULL DEFAULT 0;
-- The bytes of a body that is kept in parts; zero when the body is in the row.
ALTER TABLE event ADD COLUMN parted BIGINT NOT NULL DEFAULT 0;
-- When the body was erased, after which it cannot be sent again.
ALTER TABLE event ADD COLUMN erased BIGINT;
CREATE INDEX event_held ON event (domain_id, user_id, id) WHERE held;
CREATE INDEX event_by_age ON event (domain_id, created, id);

-- A large body, written before its event is. There is no reference to the event:
-- parts of one that never came are removed by their age, in real time.
CREATE TABLE event_part (
  event_id  BIGINT NOT NULL,
  number    BIGINT NOT NULL,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  body      {bytes} NOT NULL,
  created   BIGINT NOT NULL,
  PRIMARY KEY (event_id, number)
);
CREATE INDEX event_part_by_age ON event_part (created, event_id);

-- Not to be sent before this instant of the domain's time.
ALTER TABLE delivery ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;
-- Given up, when and why. A delivery is over once it is delivered or dropped.
ALTER TABLE delivery ADD COLUMN dropped BIGINT;
ALTER TABLE delivery ADD COLUMN drop_reason TEXT;
DROP INDEX delivery_new;
DROP INDEX delivery_undelivered;
DROP INDEX delivery_order;
CREATE INDEX delivery_new ON delivery (webhook_id, id) WHERE delivered IS NULL AND dropped IS NULL AND attempts = 0;
CREATE INDEX delivery_undelivered ON delivery (webhook_id, id) WHERE delivered IS NULL AND dropped IS NULL;
CREATE INDEX delivery_order ON delivery (webhook_id, subject, subject_id, version) WHERE delivered IS NULL AND dropped IS NULL;
CREATE INDEX delivery_held_back ON delivery (domain_id, subject, subject_id, version) WHERE delivered IS NULL AND dropped IS NULL AND not_before > 0;
CREATE INDEX delivery_by_time ON delivery (webhook_id, created, id);
CREATE INDEX delivery_of_event ON delivery (event_id);

-- The beginning of the answer to a request that failed, and what else there is
-- to say about the request.
ALTER TABLE delivery_attempt ADD COLUMN answer TEXT;
ALTER TABLE delivery_attempt ADD COLUMN detail TEXT;
CREATE INDEX delivery_attempt_by_time ON delivery_attempt (webhook_id, at, id);

ALTER TABLE webhook ADD COLUMN user_id BIGINT;
ALTER TABLE webhook ADD COLUMN disabled BIGINT;
-- Its last run ended by failures: nothing is sent but by the flusher, until
-- something is accepted.
ALTER TABLE webhook ADD COLUMN stopped BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE webhook ADD COLUMN consecutive_failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook ADD COLUMN last_success BIGINT;
ALTER TABLE webhook ADD COLUMN last_failure BIGINT;
-- The last mail of alarm, and whether it still waits for one of recovery.
ALTER TABLE webhook ADD COLUMN alerted BIGINT;
ALTER TABLE webhook ADD COLUMN alarmed BOOLEAN NOT NULL DEFAULT FALSE;

-- Requests to a webhook, counted by the hour of the domain's time they were
-- made in; durations are sums of microseconds.
CREATE TABLE webhook_health (
  webhook_id BIGINT NOT NULL REFERENCES webhook (id),
  hour       BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  requests   BIGINT NOT NULL,
  successes  BIGINT NOT NULL,
  duration   BIGINT NOT NULL,
  PRIMARY KEY (webhook_id, hour)
);

-- Providers of every type. The sealed secret is that of a signature, or of a
-- client at a token endpoint; the next one takes its place at an instant of real
-- time, and signs beside it until then.
-- only sqlite
CREATE TABLE provider (
  id          {id},
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  type        TEXT NOT NULL CHECK (type IN ('hmac_signature', 'oauth')),
  name        TEXT NOT NULL,
  secret      {bytes} NOT NULL,
  next_secret {bytes},
  next_from   BIGINT,
  config      {bytes},
  created     BIGINT NOT NULL,
  updated     BIGINT,
  deleted     BIGINT,
  CHECK ((next_secret IS NULL) = (next_from IS NULL)),
  CHECK ((type = 'oauth') = (config IS NOT NULL))
);
INSERT INTO provider (id, domain_id, type, name, secret, created, deleted)
  SELECT id, domain_id, type, name, secret, created, deleted FROM auth_provider;
DROP TABLE auth_provider;
ALTER TABLE provider RENAME TO auth_provider;
CREATE UNIQUE INDEX auth_provider_name ON auth_provider (domain_id, name) WHERE deleted IS NULL;
-- end
-- only postgres
ALTER TABLE auth_provider DROP CONSTRAINT auth_provider_type_check;
ALTER TABLE auth_provider ADD COLUMN next_secret {bytes};
ALTER TABLE auth_provider ADD COLUMN next_from BIGINT;
ALTER TABLE auth_provider ADD COLUMN config {bytes};
ALTER TABLE auth_provider ADD COLUMN updated BIGINT;
ALTER TABLE auth_provider ADD CONSTRAINT auth_provider_type_check CHECK (type IN ('hmac_signature', 'oauth'));
ALTER TABLE auth_provider ADD CHECK ((next_secret IS NULL) = (next_from IS NULL));
ALTER TABLE auth_provider ADD CHECK ((type = 'oauth') = (config IS NOT NULL));
-- end

-- Mails to the operator, written with what they tell of and sent afterwards.
CREATE TABLE mail (
  id          {id},
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
CREATE INDEX mail_unsent ON mail (next_try, id) WHERE sent IS NULL;
CREATE INDEX mail_by_domain ON mail (domain_id, id);

-- When the payer was sent back to the client, in the domain's time.
ALTER TABLE payment ADD COLUMN returned BIGINT;
