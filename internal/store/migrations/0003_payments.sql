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
  validate_mechanism  TEXT,
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
  currency            TEXT NOT NULL,
  date_type           TEXT NOT NULL,
  amount              BIGINT NOT NULL CHECK (amount > 0),
  instruction_count   BIGINT NOT NULL CHECK (instruction_count > 0),
  -- When the bank is to be asked next, in the domain's time, and the lease of
  -- the worker that asks, in the database's.
  next_check          BIGINT,
  check_lease         BIGINT NOT NULL DEFAULT 0,
  CHECK ((state = 'rejected') = (error_code IS NOT NULL)),
  CHECK (state IN ('created', 'validating', 'pending') OR (action IS NULL AND validate_uri IS NULL AND next_check IS NULL)),
  FOREIGN KEY (domain_id, client_id) REFERENCES client (domain_id, id),
  FOREIGN KEY (domain_id, id, seq, state) REFERENCES payment_transition (domain_id, payment_id, seq, to_state)
);
CREATE INDEX payment_by_registration ON payment (domain_id, registered, id);
CREATE INDEX payment_in_state ON payment (domain_id, state, registered, id);
CREATE INDEX payment_by_state ON payment (domain_id, state, id);
CREATE INDEX payment_by_validation ON payment (domain_id, validated, id);
CREATE INDEX payment_by_amount ON payment (domain_id, amount, id);
-- What belongs to a payment refers to both, and so never to another domain's.
CREATE UNIQUE INDEX payment_by_id ON payment (domain_id, id);
CREATE INDEX payment_to_check ON payment (domain_id, next_check) WHERE next_check IS NOT NULL;

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
  UNIQUE (payment_id, position),
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
-- called. At most one order is ever sent per payment.
CREATE TABLE attempt (
  id             {id},
  payment_id     BIGINT NOT NULL UNIQUE,
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  key            TEXT NOT NULL UNIQUE,
  connector_uuid TEXT NOT NULL,
  mechanism      TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('open', 'answered', 'unknown')),
  fields         {bytes} NOT NULL,
  created        BIGINT NOT NULL,
  asked          BIGINT NOT NULL DEFAULT 0,
  lease_until    BIGINT NOT NULL,
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
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
