-- A value sealed with the keys of the deployment, which tells another
-- deployment's key file from the right one before anything is lost.

CREATE TABLE key_check (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  sealed   {bytes} NOT NULL
);
