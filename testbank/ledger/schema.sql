-- Amounts are minor units of the account's currency. entered_at and booked_at are
-- numbers of changes. A reader with a change's number sees the entries as they were
-- after the change.

CREATE TABLE IF NOT EXISTS counter (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS account (
  id TEXT PRIMARY KEY,
  number TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('cash', 'card', 'own')),
  customer TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  currency TEXT NOT NULL,
  overdraft INTEGER NOT NULL CHECK (overdraft >= 0),
  booked INTEGER NOT NULL DEFAULT 0,
  expected INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Each cause has one movement. An order has one cause for each line and execution.
CREATE TABLE IF NOT EXISTS movement (
  id INTEGER PRIMARY KEY,
  cause TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY,
  movement INTEGER NOT NULL REFERENCES movement (id),
  account TEXT NOT NULL REFERENCES account (id),
  amount INTEGER NOT NULL CHECK (amount <> 0),
  other_name TEXT NOT NULL,
  other_number TEXT NOT NULL,
  text TEXT NOT NULL,
  reference TEXT NOT NULL,
  entered TEXT NOT NULL,
  entered_at INTEGER NOT NULL,
  booked TEXT,
  booked_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS entry_account ON entry (account, id);
CREATE INDEX IF NOT EXISTS entry_movement ON entry (movement);

CREATE TABLE IF NOT EXISTS document (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  owner TEXT NOT NULL,
  due INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS document_owner ON document (kind, owner);
CREATE INDEX IF NOT EXISTS document_due ON document (due) WHERE due IS NOT NULL;
