-- Users' connections to institutions, and what is read through them.

CREATE TABLE connection (
  id              {id},
  domain_id       BIGINT NOT NULL REFERENCES domain (id),
  user_id         BIGINT NOT NULL,
  connector_uuid  TEXT NOT NULL,
  created         BIGINT NOT NULL,
  state           TEXT,
  message         TEXT,
  -- What the institution asks for, as JSON, and where it sends the person.
  fields          TEXT,
  url             TEXT,
  active          BOOLEAN NOT NULL DEFAULT TRUE,
  established     BIGINT,
  last_update     BIGINT,
  last_push       BIGINT,
  -- When it is removed unless it is established before.
  expire          BIGINT,
  next_try        BIGINT,
  consent_until   BIGINT,
  failures        BIGINT NOT NULL DEFAULT 0,
  -- Reads without the person since an instant, at most a day ago.
  unattended_from BIGINT NOT NULL DEFAULT 0,
  unattended      BIGINT NOT NULL DEFAULT 0,
  credentials     {bytes} NOT NULL,
  memory          {bytes},
  -- The version of its last event, and the number of its last sync.
  version         BIGINT NOT NULL DEFAULT 0,
  sync            BIGINT NOT NULL DEFAULT 0,
  holder          TEXT NOT NULL DEFAULT '',
  lease_until     BIGINT NOT NULL DEFAULT 0,
  deleted         BIGINT
);
CREATE INDEX connection_of_user ON connection (domain_id, user_id, id) WHERE deleted IS NULL;
CREATE INDEX connection_due ON connection (domain_id, next_try) WHERE next_try IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_unfinished ON connection (domain_id, expire) WHERE expire IS NOT NULL AND deleted IS NULL;

CREATE TABLE connection_source (
  id               {id},
  domain_id        BIGINT NOT NULL REFERENCES domain (id),
  connection_id    BIGINT NOT NULL REFERENCES connection (id),
  connector_source BIGINT NOT NULL,
  name             TEXT NOT NULL,
  state            TEXT,
  created          BIGINT NOT NULL,
  last_update      BIGINT,
  disabled         BIGINT,
  access_expire    BIGINT,
  expire           BIGINT,
  next_try         BIGINT,
  UNIQUE (connection_id, name)
);

CREATE TABLE connection_log (
  id            {id},
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  connection_id BIGINT NOT NULL REFERENCES connection (id),
  source_id     BIGINT,
  started       BIGINT NOT NULL,
  at            BIGINT NOT NULL,
  next_try      BIGINT,
  state         TEXT,
  message       TEXT,
  accounts      BIGINT NOT NULL,
  attended      BOOLEAN NOT NULL
);
CREATE INDEX connection_log_by_time ON connection_log (connection_id, at, id);

-- What a person agreed to, and when they took it back.
CREATE TABLE consent (
  id              {id},
  domain_id       BIGINT NOT NULL REFERENCES domain (id),
  user_id         BIGINT NOT NULL,
  connection_id   BIGINT NOT NULL REFERENCES connection (id),
  account_id      BIGINT,
  subscription_id BIGINT,
  text_version    TEXT NOT NULL,
  origin          TEXT NOT NULL,
  given           BIGINT NOT NULL,
  withdrawn       BIGINT,
  CHECK (account_id IS NULL OR subscription_id IS NULL)
);
CREATE INDEX consent_of_user ON consent (domain_id, user_id, id);
CREATE INDEX consent_of_connection ON consent (connection_id, id);
CREATE INDEX consent_of_account ON consent (account_id) WHERE account_id IS NOT NULL;

CREATE TABLE bank_account (
  id                   {id},
  domain_id            BIGINT NOT NULL REFERENCES domain (id),
  user_id              BIGINT NOT NULL,
  connection_id        BIGINT NOT NULL REFERENCES connection (id),
  source_id            BIGINT,
  parent_id            BIGINT,
  key                  TEXT NOT NULL,
  type                 TEXT NOT NULL,
  -- What the institution says, as JSON: it is read whole and never searched.
  details              TEXT NOT NULL,
  digest               BIGINT NOT NULL,
  custom_name          TEXT,
  display              BOOLEAN NOT NULL DEFAULT TRUE,
  bookmarked           BOOLEAN NOT NULL DEFAULT FALSE,
  usage                TEXT,
  disabled             BIGINT,
  deleted              BIGINT,
  last_update          BIGINT,
  error                TEXT,
  covered_from         TEXT,
  epoch                BIGINT NOT NULL DEFAULT 0,
  -- Transactions of the epoch: those that are there, and those that are gone
  -- at the institution.
  transactions         BIGINT NOT NULL DEFAULT 0,
  deleted_transactions BIGINT NOT NULL DEFAULT 0,
  -- The sync that last changed it.
  changed              BIGINT NOT NULL DEFAULT 0,
  UNIQUE (connection_id, key)
);
CREATE INDEX bank_account_of_user ON bank_account (domain_id, user_id, id);

CREATE TABLE bank_transaction (
  id               {id},
  domain_id        BIGINT NOT NULL,
  user_id          BIGINT NOT NULL,
  account_id       BIGINT NOT NULL,
  epoch            BIGINT NOT NULL,
  key              TEXT NOT NULL,
  date             TEXT NOT NULL,
  application_date TEXT NOT NULL,
  -- Signed, as a coefficient and the number of its digits after the point.
  value            BIGINT NOT NULL,
  value_scale      BIGINT NOT NULL,
  wording          TEXT NOT NULL,
  custom_wording   TEXT,
  comment          TEXT,
  moved            BOOLEAN NOT NULL DEFAULT FALSE,
  active           BOOLEAN NOT NULL DEFAULT TRUE,
  coming           BOOLEAN NOT NULL,
  categories       TEXT,
  cluster_id       BIGINT,
  details          TEXT NOT NULL,
  digest           BIGINT NOT NULL,
  scraped          BIGINT NOT NULL,
  last_update      BIGINT NOT NULL,
  deleted          BIGINT,
  changed          BIGINT NOT NULL,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX transaction_of_user ON bank_transaction (domain_id, user_id, application_date, id);
CREATE INDEX transaction_of_user_by_date ON bank_transaction (domain_id, user_id, date, id);
CREATE INDEX transaction_of_account ON bank_transaction (account_id, epoch, application_date, id);
CREATE INDEX transaction_of_account_by_date ON bank_transaction (account_id, epoch, date, id);
CREATE INDEX transaction_changed ON bank_transaction (account_id, epoch, changed);

-- What was withdrawn and is to be erased in small steps: rows of a subject up to an epoch, or all
-- of it.
CREATE TABLE withdrawal (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  kind       TEXT NOT NULL CHECK (kind IN ('connection', 'account', 'subscription')),
  subject_id BIGINT NOT NULL,
  epoch      BIGINT,
  created    BIGINT NOT NULL
);
