-- What became of a transaction whose COMMIT was not answered: it marks a slot that
-- nobody else uses meanwhile, so that the slot tells. Its number would not: a server
-- that crashed gives those again of which it had written nothing yet.

-- only postgres
CREATE TABLE unit_mark (
  slot BIGINT PRIMARY KEY,
  unit BIGINT NOT NULL,
  at   BIGINT NOT NULL
) WITH (fillfactor = 20);
-- end
