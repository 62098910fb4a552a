-- Payments. The schema itself refuses an illegal history: the edges of the
-- state table are rows, each transition continues the one before it along an
-- edge, and a payment stands where a transition of its own put it.

CREATE TABLE payment_edge (
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO payment_edge (from_state, to_state) VALUES
  ('created', 'validating'), ('created', 'rejected'), ('created', 'expired'),
  ('validating', 'pending'), ('validating', 'rejected'), ('validating', 'expired'),
  ('pending', 'done'), ('pending', 'accepted'), ('pending', 'partial'), ('pending', 'rejected'), ('pending', 'expired');

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
  at           BIGINT NOT NULL,
  PRIMARY KEY (payment_id, seq),
  UNIQUE (domain_id, payment_id, seq, to_state),
  CHECK (
    (seq = 0 AND previous_seq IS NULL AND from_state IS NULL AND to_state = 'created') OR
    (seq > 0 AND previous_seq IS NOT NULL AND previous_seq = seq - 1 AND from_state IS NOT NULL)
  ),
  FOREIGN KEY (from_state, to_state) REFERENCES payment_edge (from_state, to_state),
  FOREIGN KEY (domain_id, payment_id, previous_seq, from_state) REFERENCES payment_transition (domain_id, payment_id, seq, to_state)
);

-- What connectors were called when they were last chosen: lists are sorted by
-- it, and a payment outlives its connector.
CREATE TABLE connector_name (
  uuid TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE TABLE payment (
  id                  {id},
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
  expires_from        BIGINT,
  CHECK ((state = 'rejected') = (error_code IS NOT NULL)),
  CHECK ((connector_uuid IS NULL) = (connector_name IS NULL)),
  CHECK (state IN ('created', 'validating', 'pending') OR (action IS NULL AND validate_uri IS NULL AND next_check IS NULL AND expires_from IS NULL)),
  FOREIGN KEY (domain_id, client_id) REFERENCES client (domain_id, id),
  FOREIGN KEY (domain_id, id, seq, state) REFERENCES payment_transition (domain_id, payment_id, seq, to_state)
);
-- The orders of the list.
CREATE INDEX payment_by_registration ON payment (domain_id, registered, id);
CREATE INDEX payment_by_validation ON payment (domain_id, validated, id);
CREATE INDEX payment_by_state ON payment (domain_id, state, id);
CREATE INDEX payment_by_connector ON payment (domain_id, connector_name, id);
CREATE INDEX payment_by_amount ON payment (domain_id, amount, id);
CREATE INDEX payment_by_lines ON payment (domain_id, instruction_count, id);
CREATE INDEX payment_by_date_type ON payment (domain_id, date_type, id);

-- The filters of the list, each in the order of registration, which is what a
-- list has unless it is asked for another.
CREATE INDEX payment_in_state ON payment (domain_id, state, registered, id);
CREATE INDEX payment_of_date_type ON payment (domain_id, date_type, registered, id);
CREATE INDEX payment_of_connector ON payment (domain_id, connector_uuid, registered, id) WHERE connector_uuid IS NOT NULL;
CREATE INDEX payment_of_no_connector ON payment (domain_id, registered, id) WHERE connector_uuid IS NULL;
CREATE INDEX payment_of_error ON payment (domain_id, error_code, registered, id) WHERE error_code IS NOT NULL;
CREATE INDEX payment_of_bank_id ON payment (domain_id, bank_payment_id, registered, id) WHERE bank_payment_id IS NOT NULL;
CREATE INDEX payment_of_website ON payment (domain_id, website, registered, id) WHERE website IS NOT NULL;
CREATE INDEX payment_of_payer ON payment (domain_id, payer_identification, registered, id) WHERE payer_identification IS NOT NULL;

-- What belongs to a payment refers to both, and so never to another domain's.
CREATE UNIQUE INDEX payment_by_id ON payment (domain_id, id);
CREATE INDEX payment_to_check ON payment (domain_id, next_check) WHERE next_check IS NOT NULL;
CREATE INDEX payment_to_expire ON payment (domain_id, expires_from) WHERE expires_from IS NOT NULL;

-- A payment never goes back to an earlier transition of its own, and each
-- change of it is a version, over which the next one is written.
-- only sqlite
CREATE TRIGGER payment_moves_forward BEFORE UPDATE OF seq, state, version ON payment
WHEN NEW.seq < OLD.seq OR NEW.version <> OLD.version + 1
BEGIN
  SELECT RAISE(ABORT, 'a payment goes forward, version by version');
END;
CREATE TRIGGER payment_transition_stays BEFORE UPDATE ON payment_transition
BEGIN
  SELECT RAISE(ABORT, 'the history of a payment is never rewritten');
END;
-- end
-- only postgres
CREATE FUNCTION payment_moves_forward() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a payment goes forward, version by version' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER payment_moves_forward BEFORE UPDATE OF seq, state, version ON payment
  FOR EACH ROW WHEN (NEW.seq < OLD.seq OR NEW.version <> OLD.version + 1) EXECUTE FUNCTION payment_moves_forward();
CREATE FUNCTION payment_transition_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the history of a payment is never rewritten' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER payment_transition_stays BEFORE UPDATE ON payment_transition
  FOR EACH ROW EXECUTE FUNCTION payment_transition_stays();
-- end

CREATE TABLE instruction (
  id                         {id},
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
  new_reference              BOOLEAN NOT NULL,
  UNIQUE (payment_id, position),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE INDEX instruction_of_beneficiary ON instruction (domain_id, beneficiary_identification, registered, payment_id) WHERE new_beneficiary;
CREATE INDEX instruction_of_reference ON instruction (domain_id, reference_id, registered, payment_id) WHERE new_reference;

-- What else happened to a payment. A note belongs after the transition of the
-- number seq; within one payment, notes are numbered as they were made.
CREATE TABLE payment_note (
  payment_id BIGINT NOT NULL,
  number     BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  seq        BIGINT NOT NULL,
  kind       TEXT NOT NULL,
  actor      TEXT NOT NULL,
  text       TEXT NOT NULL,
  at         BIGINT NOT NULL,
  PRIMARY KEY (payment_id, number),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);

-- Identities, apart from the payment so that reading one is a decision. The
-- sensitive part is sealed. Line is the instruction's position, -1 for the
-- payer's and the operator's.
CREATE TABLE payment_identity (
  id         {id},
  payment_id BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  role       TEXT NOT NULL CHECK (role IN ('payer', 'operator', 'beneficiary')),
  line       BIGINT NOT NULL,
  plain      TEXT NOT NULL,
  sensitive  {bytes} NOT NULL,
  UNIQUE (payment_id, role, line),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);

-- Payment field values given before the payer validates, sealed.
CREATE TABLE payment_given (
  payment_id BIGINT NOT NULL PRIMARY KEY,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  fields     {bytes} NOT NULL,
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);

-- What was, or may have been, sent to a bank: written before the bank is
-- called. The attempts of a payment are numbered; the first one is the order,
-- which is sent once, and one at most is not answered. What belongs to the
-- order is with the first; an answer says who said what to which action.
CREATE TABLE attempt (
  id             {id},
  payment_id     BIGINT NOT NULL,
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  number         BIGINT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind IN ('initiation', 'answer', 'cancellation')),
  key            TEXT UNIQUE,
  connector_uuid TEXT,
  mechanism      TEXT,
  fields         {bytes},
  waits          BOOLEAN,
  action         TEXT,
  actor          TEXT,
  agreed         BOOLEAN,
  state          TEXT NOT NULL CHECK (state IN ('open', 'answered', 'unknown')),
  created        BIGINT NOT NULL,
  asked          BIGINT NOT NULL DEFAULT 0,
  lease_until    BIGINT NOT NULL,
  UNIQUE (payment_id, number),
  CHECK (number > 0 AND (number = 1) = (kind = 'initiation')),
  CHECK ((kind = 'initiation') = (key IS NOT NULL AND connector_uuid IS NOT NULL AND mechanism IS NOT NULL AND fields IS NOT NULL AND waits IS NOT NULL)),
  CHECK ((kind = 'answer') = (action IS NOT NULL AND agreed IS NOT NULL)),
  CHECK ((kind = 'initiation') = (actor IS NULL)),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
CREATE UNIQUE INDEX attempt_live ON attempt (payment_id) WHERE state <> 'answered';
CREATE INDEX attempt_unanswered ON attempt (domain_id, lease_until) WHERE state <> 'answered';

-- The ledger of the simulated banks, which survives restarts like a bank does.
CREATE TABLE sandbox_order (
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  key         TEXT NOT NULL,
  version     BIGINT NOT NULL,
  submissions BIGINT NOT NULL,
  body        {bytes} NOT NULL,
  PRIMARY KEY (domain_id, key)
);

-- The terms of service that payers accept, by version; the newest is in force.
-- Payments keep the version by its name.
CREATE TABLE terms (
  id        {id},
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  version   TEXT NOT NULL,
  created   BIGINT NOT NULL,
  deleted   BIGINT,
  UNIQUE (domain_id, version)
);
-- Lower numbers are those of the terms that come with the program.
INSERT INTO sequence (name, next) VALUES ('terms', 100);
CREATE UNIQUE INDEX terms_in_force ON terms (domain_id) WHERE deleted IS NULL;
CREATE TABLE terms_text (
  terms_id BIGINT NOT NULL REFERENCES terms (id),
  language TEXT NOT NULL,
  content  TEXT NOT NULL,
  PRIMARY KEY (terms_id, language)
);

-- Key pairs with whose public half clients encrypt field values, the private
-- half sealed. Earlier ones still open what was encrypted before.
CREATE TABLE field_key (
  id        {id},
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  number    BIGINT NOT NULL,
  kid       TEXT NOT NULL UNIQUE,
  private   {bytes} NOT NULL,
  created   BIGINT NOT NULL,
  UNIQUE (domain_id, number)
);
