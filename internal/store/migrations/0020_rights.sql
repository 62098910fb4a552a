-- What people may take back, and what is left of it.

-- What the body of an event holds that may be withdrawn, each with a space on
-- both sides: " connection:3 account:7/0 ", the epoch behind the slash.
ALTER TABLE event ADD COLUMN holds TEXT;
CREATE INDEX event_holding ON event (domain_id, user_id, id) WHERE holds IS NOT NULL AND erased IS NULL;
ALTER TABLE withdrawal ADD COLUMN user_id BIGINT;

-- The record of a consent outlives the connection that it was given for, and
-- goes with its user.
-- only sqlite
CREATE TABLE given_consent (
  id              {id},
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
INSERT INTO given_consent (id, domain_id, user_id, connection_id, account_id, subscription_id, text_version, origin, given, withdrawn)
  SELECT id, domain_id, user_id, connection_id, account_id, subscription_id, text_version, origin, given, withdrawn FROM consent;
DROP TABLE consent;
ALTER TABLE given_consent RENAME TO consent;
CREATE INDEX consent_of_connection ON consent (connection_id, id);
CREATE INDEX consent_of_account ON consent (account_id) WHERE account_id IS NOT NULL;
-- end
-- only postgres
ALTER TABLE consent DROP CONSTRAINT consent_connection_id_fkey;
DROP INDEX consent_of_user;
-- end
CREATE INDEX consent_of_user ON consent (domain_id, user_id, given, id);
CREATE INDEX consent_of_subscription ON consent (subscription_id) WHERE subscription_id IS NOT NULL;

-- Those whose person is to agree anew once the instant has come.
CREATE INDEX connection_lapsing ON connection (domain_id, consent_until)
  WHERE consent_until IS NOT NULL AND deleted IS NULL AND (state IS NULL OR state NOT IN ('SCARequired', 'webauthRequired'));
