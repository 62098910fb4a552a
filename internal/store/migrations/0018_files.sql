-- Files of documents and of transactions, and what persons change of documents.

-- When the bytes came; until then they are to be fetched.
ALTER TABLE stored_file ADD COLUMN stored BIGINT;
-- By a person, and not fetched from anywhere.
ALTER TABLE stored_file ADD COLUMN uploaded BOOLEAN NOT NULL DEFAULT FALSE;
-- When they are to be fetched next, and how often that failed.
ALTER TABLE stored_file ADD COLUMN next_fetch BIGINT;
ALTER TABLE stored_file ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stored_file ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0;
-- When the bytes and then this row are removed: nobody has the file any more.
ALTER TABLE stored_file ADD COLUMN due BIGINT;
CREATE INDEX stored_file_to_fetch ON stored_file (domain_id, next_fetch) WHERE next_fetch IS NOT NULL;
CREATE INDEX stored_file_due ON stored_file (due) WHERE due IS NOT NULL;
CREATE INDEX document_of_file ON document (file_id) WHERE file_id IS NOT NULL;

-- The person's own, which a synchronisation does not overwrite. Type, date and
-- total are in the columns that lists look at as well.
ALTER TABLE document ADD COLUMN readonly BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE document ADD COLUMN custom_type TEXT;
ALTER TABLE document ADD COLUMN custom_name TEXT;
ALTER TABLE document ADD COLUMN custom_date TEXT;
ALTER TABLE document ADD COLUMN custom_due TEXT;
ALTER TABLE document ADD COLUMN custom_total TEXT;
ALTER TABLE document ADD COLUMN custom_untaxed TEXT;
ALTER TABLE document ADD COLUMN custom_vat TEXT;
ALTER TABLE document ADD COLUMN custom_income BOOLEAN;
ALTER TABLE document ADD COLUMN category BIGINT;

-- What a domain says of the types of documents, where it differs.
CREATE TABLE document_type (
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  number     BIGINT NOT NULL,
  name       TEXT,
  attachable BOOLEAN,
  PRIMARY KEY (domain_id, number)
);

-- Documents that a person attached to transactions.
CREATE TABLE transaction_document (
  id                 {id},
  domain_id          BIGINT NOT NULL,
  user_id            BIGINT NOT NULL,
  account_id         BIGINT NOT NULL,
  account_epoch      BIGINT NOT NULL,
  transaction_id     BIGINT NOT NULL,
  subscription_id    BIGINT NOT NULL,
  subscription_epoch BIGINT NOT NULL,
  document_id        BIGINT NOT NULL,
  UNIQUE (transaction_id, document_id)
);
CREATE INDEX transaction_document_of_account ON transaction_document (account_id, account_epoch);
CREATE INDEX transaction_document_of_subscription ON transaction_document (subscription_id, subscription_epoch);

-- Files that institutions keep with transactions.
CREATE TABLE attachment (
  id             {id},
  domain_id      BIGINT NOT NULL,
  user_id        BIGINT NOT NULL,
  account_id     BIGINT NOT NULL,
  epoch          BIGINT NOT NULL,
  transaction_id BIGINT NOT NULL,
  key            TEXT NOT NULL,
  name           TEXT NOT NULL,
  description    TEXT NOT NULL,
  file_id        BIGINT NOT NULL REFERENCES stored_file (id),
  created        BIGINT NOT NULL,
  last_update    BIGINT NOT NULL,
  changed        BIGINT NOT NULL,
  UNIQUE (transaction_id, key)
);
CREATE INDEX attachment_changed ON attachment (account_id, epoch, changed, transaction_id);
CREATE INDEX attachment_of_file ON attachment (file_id);
