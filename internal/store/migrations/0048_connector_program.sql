-- Connectors that are other programs, for all domains. Profile is what the program said of
-- itself, by which it is a connector also while it is away.
CREATE TABLE connector_program (
  id      {id},
  uuid    TEXT NOT NULL,
  address TEXT NOT NULL,
  secret  {bytes} NOT NULL,
  profile TEXT NOT NULL,
  added   BIGINT NOT NULL
);
CREATE UNIQUE INDEX connector_program_by_uuid ON connector_program (uuid);
