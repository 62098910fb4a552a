-- Events and their deliveries.

CREATE TABLE event (
  id           {id},
  domain_id    BIGINT NOT NULL REFERENCES domain (id),
  name         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  subject_id   BIGINT NOT NULL,
  version      BIGINT NOT NULL,
  body         {bytes} NOT NULL,
  created      BIGINT NOT NULL,
  UNIQUE (domain_id, subject, subject_id, name, version)
);

CREATE TABLE auth_provider (
  id        {id},
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  type      TEXT NOT NULL CHECK (type IN ('hmac_signature')),
  name      TEXT NOT NULL,
  secret    {bytes} NOT NULL,
  created   BIGINT NOT NULL,
  deleted   BIGINT
);
CREATE UNIQUE INDEX auth_provider_name ON auth_provider (domain_id, name) WHERE deleted IS NULL;

CREATE TABLE webhook (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  client_id  BIGINT REFERENCES client (id),
  event      TEXT NOT NULL,
  url        TEXT NOT NULL,
  auth_id    BIGINT REFERENCES auth_provider (id),
  created    BIGINT NOT NULL,
  updated    BIGINT,
  deleted    BIGINT,
  -- When the flusher is to try again what failed, in the domain's time; null
  -- when nothing has. Its place in the queue is kept between runs, so that
  -- one payload that always fails does not starve the rest.
  next_flush  BIGINT,
  flush_after BIGINT NOT NULL DEFAULT 0,
  -- While something is left to the flusher, deliveries up to this one are left
  -- to it as well, tried or not: most of them wait for one that failed, and
  -- looking at all of them for each new one would take ever longer.
  news_after  BIGINT NOT NULL DEFAULT 0,
  -- Who sends to this webhook now: one worker at a time, by the database's clock.
  holder      TEXT NOT NULL DEFAULT '',
  lease_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX webhook_by_event ON webhook (domain_id, event) WHERE deleted IS NULL;
CREATE INDEX webhook_to_flush ON webhook (domain_id, next_flush) WHERE next_flush IS NOT NULL AND deleted IS NULL;

CREATE TABLE delivery (
  id          {id},
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  webhook_id  BIGINT NOT NULL REFERENCES webhook (id),
  event_id    BIGINT NOT NULL REFERENCES event (id),
  subject     TEXT NOT NULL,
  subject_id  BIGINT NOT NULL,
  version     BIGINT NOT NULL,
  created     BIGINT NOT NULL,
  attempts    BIGINT NOT NULL DEFAULT 0,
  delivered   BIGINT
);
CREATE INDEX delivery_new ON delivery (webhook_id, id) WHERE delivered IS NULL AND attempts = 0;
CREATE INDEX delivery_undelivered ON delivery (webhook_id, id) WHERE delivered IS NULL;
CREATE INDEX delivery_order ON delivery (webhook_id, subject, subject_id, version) WHERE delivered IS NULL;

CREATE TABLE delivery_attempt (
  id          {id},
  domain_id   BIGINT NOT NULL REFERENCES domain (id),
  webhook_id  BIGINT NOT NULL REFERENCES webhook (id),
  delivery_id BIGINT NOT NULL REFERENCES delivery (id),
  at          BIGINT NOT NULL,
  duration    BIGINT NOT NULL,
  status      BIGINT,
  failure     TEXT
);
CREATE INDEX delivery_attempt_by_delivery ON delivery_attempt (delivery_id, id);

-- What the built-in receiver got, so that a newcomer sees a first webhook
-- without writing a program.
CREATE TABLE received (
  id        {id},
  domain_id BIGINT NOT NULL REFERENCES domain (id),
  name      TEXT NOT NULL,
  at        BIGINT NOT NULL,
  headers   TEXT NOT NULL,
  body      {bytes} NOT NULL,
  verdict   TEXT NOT NULL
);
CREATE INDEX received_by_domain ON received (domain_id, id);
