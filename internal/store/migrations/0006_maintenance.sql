-- One row while the interface is closed for maintenance, none otherwise.

CREATE TABLE maintenance (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  since    BIGINT NOT NULL
);
