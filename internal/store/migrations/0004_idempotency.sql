-- Answers kept for clients that repeat a request under the same
-- Idempotency-Key. A row without an answer is a request under way: its lease
-- says until when, run tells the executions of one key apart, and subject is
-- what the execution has made, written in the transaction that made it.

CREATE TABLE idempotency (
  id           {id},
  domain_id    BIGINT NOT NULL REFERENCES domain (id),
  token_id     BIGINT NOT NULL,
  key_hash     {bytes} NOT NULL,
  request_hash {bytes} NOT NULL,
  run          BIGINT NOT NULL,
  lease_until  BIGINT NOT NULL,
  subject      BIGINT,
  answer       {bytes},
  expires      BIGINT NOT NULL,
  UNIQUE (domain_id, token_id, key_hash)
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires);
