-- End users, what applications may do in their name, and what is to be known
-- of an application.

-- Expiry is in real time; the other instants are in the domain's. A deleted user
-- has no row.
CREATE TABLE end_user (
  id        {id},
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

-- What applications keep with a user.
CREATE TABLE user_setting (
  user_id   BIGINT NOT NULL REFERENCES end_user (id) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  PRIMARY KEY (user_id, key)
);

-- Permanent user tokens, sealed, because webhooks carry the newest that their
-- client has for the user. A revoked one has no row here; those of a deleted
-- user stay until its last webhook is delivered, good for nothing else.
CREATE TABLE user_token (
  token_id  BIGINT NOT NULL PRIMARY KEY,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  client_id BIGINT,
  user_id   BIGINT NOT NULL,
  sealed    {bytes} NOT NULL,
  created   BIGINT NOT NULL
);
CREATE INDEX user_token_newest ON user_token (domain_id, user_id, client_id, created, token_id);

-- Users who are deleted and of whom something is left to be erased: since when,
-- and when to look again, both in real time.
CREATE TABLE erasure (
  user_id   BIGINT NOT NULL PRIMARY KEY,
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  since     BIGINT NOT NULL,
  due       BIGINT NOT NULL
);
CREATE INDEX erasure_due ON erasure (domain_id, due);
CREATE INDEX event_of_user ON event (domain_id, user_id, id) WHERE user_id IS NOT NULL;

-- Codes that are good for one exchange.
ALTER TABLE token ADD COLUMN single BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX token_by_user ON token (domain_id, user_id, id) WHERE user_id IS NOT NULL;

-- The user an identity of a payment is of, which the payment outlives.
ALTER TABLE payment_identity ADD COLUMN user_id BIGINT REFERENCES end_user (id) ON DELETE SET NULL;
CREATE INDEX payment_identity_of_user ON payment_identity (user_id) WHERE user_id IS NOT NULL;

-- What an application says about itself. Its key pair signs tokens for users;
-- the private half is sealed.
ALTER TABLE client ADD COLUMN config TEXT NOT NULL DEFAULT '{}';
ALTER TABLE client ADD COLUMN primary_color TEXT;
ALTER TABLE client ADD COLUMN secondary_color TEXT;
ALTER TABLE client ADD COLUMN description TEXT;
ALTER TABLE client ADD COLUMN description_banks TEXT;
ALTER TABLE client ADD COLUMN description_providers TEXT;
ALTER TABLE client ADD COLUMN pro BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE client ADD COLUMN private_key {bytes};
ALTER TABLE client ADD COLUMN public_key TEXT;

CREATE TABLE client_logo (
  id         {id},
  client_id  BIGINT NOT NULL UNIQUE REFERENCES client (id),
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  media_type TEXT NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg')),
  content    {bytes} NOT NULL,
  created    BIGINT NOT NULL
);
