-- What payers saw when they acted on a page of ours: of an order, an answer or a
-- cancellation, with the attempt it led to; 0 where the bank had not to be told.
-- The summary is sealed, for it names people and accounts, and nothing but its
-- seal ever changes.
CREATE TABLE payment_evidence (
  id         {id},
  payment_id BIGINT NOT NULL,
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  attempt    BIGINT NOT NULL,
  act        TEXT NOT NULL CHECK (act IN ('order', 'fields', 'agree', 'refuse', 'cancel')),
  language   TEXT NOT NULL,
  shown      {bytes} NOT NULL,
  at         BIGINT NOT NULL,
  UNIQUE (payment_id, attempt),
  FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id)
);
-- only sqlite
CREATE TRIGGER payment_evidence_stays BEFORE UPDATE OF id, payment_id, domain_id, attempt, act, language, at ON payment_evidence
BEGIN
  SELECT RAISE(ABORT, 'evidence is never rewritten');
END;
-- end
-- only postgres
CREATE FUNCTION payment_evidence_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'evidence is never rewritten' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER payment_evidence_stays BEFORE UPDATE OF id, payment_id, domain_id, attempt, act, language, at ON payment_evidence
  FOR EACH ROW EXECUTE FUNCTION payment_evidence_stays();
-- end
