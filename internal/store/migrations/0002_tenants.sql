-- Tenants, their applications, their tokens and their settings.

CREATE TABLE domain (
  id           {id},
  name         TEXT NOT NULL UNIQUE,
  kind         TEXT NOT NULL CHECK (kind IN ('sandbox', 'live')),
  host         TEXT NOT NULL UNIQUE,
  base_url     TEXT NOT NULL,
  created      BIGINT NOT NULL,
  clock_offset BIGINT NOT NULL DEFAULT 0,
  clock_frozen BIGINT,
  CHECK (kind = 'sandbox' OR (clock_offset = 0 AND clock_frozen IS NULL))
);

CREATE TABLE client (
  id            {id},
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  name          TEXT NOT NULL,
  secret_hash   {bytes} NOT NULL,
  redirect_uris TEXT NOT NULL,
  created       BIGINT NOT NULL,
  deleted       BIGINT
);
CREATE UNIQUE INDEX client_by_domain ON client (domain_id, id);

-- Client ids have eight digits, as programs of this API family expect.
INSERT INTO sequence (name, next) VALUES ('client', 10000000);

CREATE TABLE token (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  client_id  BIGINT,
  kind       TEXT NOT NULL CHECK (kind IN ('user', 'code', 'service', 'payment', 'config', 'users')),
  hash       {bytes} NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  user_id    BIGINT,
  payment_id BIGINT,
  created    BIGINT NOT NULL,
  expires    BIGINT,
  revoked    BIGINT,
  CHECK ((kind = 'payment') = (payment_id IS NOT NULL)),
  FOREIGN KEY (domain_id, client_id) REFERENCES client (domain_id, id)
);
CREATE INDEX token_by_domain ON token (domain_id, id);
CREATE INDEX token_by_payment ON token (domain_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX token_by_expiry ON token (expires) WHERE expires IS NOT NULL;

CREATE TABLE setting (
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  updated   BIGINT NOT NULL,
  PRIMARY KEY (domain_id, key)
);

-- Exact totals of unfiltered lists. A total is spread over shards so that
-- concurrent writers of one domain do not wait for one row.
CREATE TABLE counter (
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  name      TEXT NOT NULL,
  shard     BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  PRIMARY KEY (domain_id, name, shard)
);
