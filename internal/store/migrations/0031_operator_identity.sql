-- Signing in: whom a provider of identities vouches for, and attempts that failed.

-- A person whom a provider knows, by its issuer and their subject there, is one
-- operator.
CREATE TABLE operator_identity (
  id          {id},
  operator_id BIGINT NOT NULL REFERENCES operator (id),
  issuer      TEXT NOT NULL,
  subject     TEXT NOT NULL,
  created     BIGINT NOT NULL,
  UNIQUE (issuer, subject),
  UNIQUE (operator_id, issuer)
);

-- Attempts are also counted by a name and a network together, which are a part of
-- the name. Those that would be the least missed are found when there are many.
ALTER TABLE sign_in_failure ADD COLUMN part_of {bytes};
CREATE INDEX sign_in_failure_part_of ON sign_in_failure (part_of) WHERE part_of IS NOT NULL;
CREATE INDEX sign_in_failure_by_weight ON sign_in_failure (failures, latest);
