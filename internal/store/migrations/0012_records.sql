-- What operators look up: who changed the configuration, what webhooks were
-- sent; and how far the removal of old records has come.

CREATE TABLE setting_change (
  id             {id},
  domain_id      BIGINT NOT NULL REFERENCES domain (id),
  key            TEXT NOT NULL,
  previous_value TEXT,
  new_value      TEXT,
  type           TEXT NOT NULL CHECK (type IN ('add', 'update', 'delete')),
  -- "command", or a kind of credential and its id.
  changed_by     TEXT NOT NULL,
  at             BIGINT NOT NULL,
  CHECK ((type = 'add') = (previous_value IS NULL)),
  CHECK ((type = 'delete') = (new_value IS NULL))
);
CREATE INDEX setting_change_by_time ON setting_change (domain_id, at, id);

-- Deliveries in one state, in the order of their events: 0 are undelivered, 1
-- given up, 2 delivered.
CREATE INDEX delivery_in_state ON delivery
  (webhook_id, (CASE WHEN delivered IS NOT NULL THEN 2 WHEN dropped IS NOT NULL THEN 1 ELSE 0 END), created, id);
-- Those that are over, which is what is removed one day.
CREATE INDEX delivery_over ON delivery (domain_id, created, id) WHERE delivered IS NOT NULL OR dropped IS NOT NULL;
CREATE INDEX webhook_by_domain ON webhook (domain_id, id);
CREATE INDEX webhook_in_use ON webhook (domain_id, id) WHERE deleted IS NULL AND disabled IS NULL;
CREATE INDEX webhook_deleted ON webhook (domain_id, deleted) WHERE deleted IS NOT NULL;
CREATE INDEX webhook_health_by_age ON webhook_health (domain_id, hour);

-- Where the next search for old rows goes on: what lies before was looked at,
-- and is not looked at again. The domain is zero for a search in all of them.
CREATE TABLE purge_place (
  domain_id BIGINT NOT NULL,
  subject   TEXT NOT NULL,
  created   BIGINT NOT NULL,
  last      BIGINT NOT NULL,
  PRIMARY KEY (domain_id, subject)
);
