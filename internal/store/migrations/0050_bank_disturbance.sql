-- Which process leaves which bank alone because calls to it failed in a row, and until when
-- that holds unless the process says so again: one row for each process and connector.
CREATE TABLE bank_disturbance (
  process   TEXT NOT NULL,
  connector TEXT NOT NULL,
  until     BIGINT NOT NULL,
  PRIMARY KEY (process, connector)
);
