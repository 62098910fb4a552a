-- Who works in the console, how they prove who they are, and what they did.

-- Operators belong to the deployment, not to a domain. The password is a hash
-- with its parameters. A second factor is proposed until its first code is given.
CREATE TABLE operator (
  id            {id},
  name          TEXT NOT NULL UNIQUE,
  role          TEXT NOT NULL CHECK (role IN ('viewer', 'developer', 'operator', 'administrator')),
  password      TEXT NOT NULL,
  totp          {bytes},
  totp_proposed {bytes},
  totp_step     BIGINT NOT NULL DEFAULT 0,
  created       BIGINT NOT NULL,
  disabled      BIGINT
);

-- One that waits still lacks the second factor; one that is revoked expired then.
CREATE TABLE console_session (
  id          {id},
  operator_id BIGINT NOT NULL REFERENCES operator (id),
  token_hash  {bytes} NOT NULL UNIQUE,
  csrf        {bytes} NOT NULL,
  stage       TEXT NOT NULL CHECK (stage IN ('waiting', 'single', 'double')),
  created     BIGINT NOT NULL,
  seen        BIGINT NOT NULL,
  expires     BIGINT NOT NULL,
  revoked     BIGINT
);
CREATE INDEX console_session_of_operator ON console_session (operator_id, id) WHERE revoked IS NULL;
CREATE INDEX console_session_by_expiry ON console_session (expires);

-- Attempts to sign in that have not led anywhere, by a keyed or plain hash of
-- whom they are about: the name that was given, or the network they came from.
CREATE TABLE sign_in_failure (
  subject  {bytes} NOT NULL PRIMARY KEY,
  failures BIGINT NOT NULL,
  latest   BIGINT NOT NULL
);
CREATE INDEX sign_in_failure_by_age ON sign_in_failure (latest);

-- What operators did and looked at, without a personal value. It refers to rows
-- by number alone, so that it outlives them. The last three columns are filled
-- once, when the row becomes part of the chain of its domain; acts that are of
-- no domain have a chain of their own.
CREATE TABLE audit (
  id          {id},
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
  previous    {bytes},
  hash        {bytes},
  CHECK ((subject IS NULL) = (subject_id IS NULL)),
  CHECK ((number IS NULL) = (hash IS NULL) AND (number IS NULL OR previous IS NOT NULL))
);
CREATE UNIQUE INDEX audit_chain ON audit (COALESCE(domain_id, 0), number) WHERE number IS NOT NULL;
CREATE INDEX audit_to_chain ON audit (COALESCE(domain_id, 0), id) WHERE number IS NULL;
CREATE INDEX audit_of_domain ON audit (domain_id, at, id);
CREATE INDEX audit_of_operator ON audit (operator_id, at, id);
-- only sqlite
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
-- end
-- only postgres
CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is never rewritten' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OF id, domain_id, at, operator_id, session_id, request_id, act, subject, subject_id, refused ON audit
  FOR EACH ROW EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_stays_chained BEFORE UPDATE ON audit
  FOR EACH ROW WHEN (OLD.number IS NOT NULL) EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_stays_whole BEFORE DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION audit_stays();
-- end

-- Connections that could not be read when they were last tried.
CREATE INDEX connection_in_trouble ON connection (domain_id, state) WHERE state IS NOT NULL AND deleted IS NULL;
