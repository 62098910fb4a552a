-- What accounts hold besides money: investments, market orders, pockets, and how loans are paid
-- back.

ALTER TABLE bank_account ADD COLUMN worth TEXT;

CREATE TABLE asset (
  id          {id},
  domain_id   BIGINT NOT NULL,
  user_id     BIGINT NOT NULL,
  account_id  BIGINT NOT NULL,
  epoch       BIGINT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('investment', 'market_order', 'pocket', 'amortization')),
  -- The kind and the institution's name of it; of a pocket also that of its investment.
  key         TEXT NOT NULL,
  parent_key  TEXT,
  -- The day that what the institution says is of.
  date        TEXT,
  details     TEXT NOT NULL,
  digest      BIGINT NOT NULL,
  -- What it said of an earlier day.
  previous    TEXT,
  created     BIGINT NOT NULL,
  last_update BIGINT NOT NULL,
  deleted     BIGINT,
  changed     BIGINT NOT NULL,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX asset_of_user ON asset (domain_id, user_id, kind, id);
CREATE INDEX asset_of_account ON asset (account_id, epoch, kind, id);

-- What a unit of an investment was worth on a day.
CREATE TABLE investment_value (
  id                 {id},
  domain_id          BIGINT NOT NULL,
  account_id         BIGINT NOT NULL,
  epoch              BIGINT NOT NULL,
  investment_id      BIGINT NOT NULL,
  date               TEXT NOT NULL,
  value              TEXT NOT NULL,
  original_currency  TEXT,
  original_value     TEXT,
  UNIQUE (investment_id, date)
);
CREATE INDEX investment_value_of_account ON investment_value (account_id, epoch, id);

-- Categories of transactions that people made.
CREATE TABLE category (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  user_id    BIGINT NOT NULL REFERENCES end_user (id) ON DELETE CASCADE,
  parent_id  BIGINT,
  name       TEXT NOT NULL,
  income     BOOLEAN NOT NULL,
  refundable BOOLEAN NOT NULL,
  color      TEXT
);
CREATE INDEX category_of_user ON category (user_id, id);

-- What clients note about transactions.
CREATE TABLE transaction_information (
  id             {id},
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  account_id     BIGINT NOT NULL,
  epoch          BIGINT NOT NULL,
  transaction_id BIGINT NOT NULL,
  key            TEXT NOT NULL,
  value          TEXT NOT NULL,
  UNIQUE (transaction_id, key)
);
CREATE INDEX information_of_account ON transaction_information (account_id, epoch, id);

-- Transactions that come back.
CREATE TABLE transaction_cluster (
  id         {id},
  domain_id  BIGINT NOT NULL,
  user_id    BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  epoch      BIGINT NOT NULL,
  -- What the labels have in common; one that a client made has none.
  key        TEXT,
  wording    TEXT NOT NULL,
  mean       TEXT NOT NULL,
  increment  BIGINT NOT NULL,
  next_date  TEXT,
  category   BIGINT NOT NULL,
  enabled    BOOLEAN NOT NULL,
  deleted    BIGINT,
  UNIQUE (account_id, epoch, key)
);
CREATE INDEX cluster_of_user ON transaction_cluster (domain_id, user_id, id);
CREATE INDEX cluster_of_account ON transaction_cluster (account_id, epoch, id);
CREATE INDEX transaction_of_cluster ON bank_transaction (cluster_id) WHERE cluster_id IS NOT NULL;
