-- Subscriptions of users and their documents.

CREATE TABLE subscription (
  id            {id},
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  connection_id BIGINT NOT NULL REFERENCES connection (id),
  source_id     BIGINT,
  key           TEXT NOT NULL,
  details       TEXT NOT NULL,
  digest        BIGINT NOT NULL,
  disabled      BIGINT,
  deleted       BIGINT,
  last_update   BIGINT,
  error         TEXT,
  epoch         BIGINT NOT NULL DEFAULT 0,
  documents     BIGINT NOT NULL DEFAULT 0,
  changed       BIGINT NOT NULL DEFAULT 0,
  UNIQUE (connection_id, key)
);
CREATE INDEX subscription_of_user ON subscription (domain_id, user_id, id);

-- A stored file. Its bytes are elsewhere, under its id.
CREATE TABLE stored_file (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  user_id    BIGINT NOT NULL,
  media_type TEXT NOT NULL,
  size       BIGINT NOT NULL,
  created    BIGINT NOT NULL
);
CREATE INDEX stored_file_of_user ON stored_file (domain_id, user_id, id);

CREATE TABLE document (
  id              {id},
  domain_id       BIGINT NOT NULL,
  user_id         BIGINT NOT NULL,
  subscription_id BIGINT NOT NULL,
  epoch           BIGINT NOT NULL,
  key             TEXT NOT NULL,
  type            TEXT NOT NULL,
  date            TEXT NOT NULL,
  -- Of a bill, as a coefficient and the number of its digits after the point.
  total           BIGINT,
  total_scale     BIGINT,
  details         TEXT NOT NULL,
  digest          BIGINT NOT NULL,
  file_id         BIGINT REFERENCES stored_file (id),
  found           BIGINT NOT NULL,
  last_update     BIGINT NOT NULL,
  deleted         BIGINT,
  changed         BIGINT NOT NULL,
  UNIQUE (subscription_id, epoch, key)
);
CREATE INDEX document_of_user ON document (domain_id, user_id, date, id);
CREATE INDEX document_of_subscription ON document (subscription_id, epoch, date, id);
CREATE INDEX document_changed ON document (subscription_id, epoch, changed);
