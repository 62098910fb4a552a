-- When the newest complete copy of the database was begun: one row, none before the first copy.
CREATE TABLE last_backup (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  begun    BIGINT NOT NULL
);
