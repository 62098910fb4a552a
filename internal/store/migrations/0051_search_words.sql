-- The words by which payments are found: of their labels, and values that stand for e-mail
-- addresses. The newest payments of a word are side by side. Each payment adds rows, so they
-- are kept once, in the order of the key, and not checked against other tables.

-- only sqlite
CREATE TABLE payment_word (
  domain_id  BIGINT NOT NULL,
  word       TEXT NOT NULL,
  registered BIGINT NOT NULL,
  payment_id BIGINT NOT NULL,
  PRIMARY KEY (domain_id, word, registered, payment_id)
) WITHOUT ROWID;
-- end

-- only postgres
CREATE TABLE payment_word (
  domain_id  BIGINT NOT NULL,
  word       TEXT NOT NULL,
  registered BIGINT NOT NULL,
  payment_id BIGINT NOT NULL,
  PRIMARY KEY (domain_id, word, registered, payment_id)
);
ALTER TABLE payment_word ALTER COLUMN domain_id SET (n_distinct = 100);
-- end

-- Acts by the number of the request in which they were done.
CREATE INDEX audit_of_request ON audit (request_id);
