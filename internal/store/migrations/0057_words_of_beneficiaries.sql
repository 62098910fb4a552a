-- Domains with payments whose words may lack the names of beneficiaries: those with an id below
-- before_id. The service adds the words, from the newest payment to the oldest, and removes the row.
-- Processes of the previous version do not know this table, so they cannot remove its rows.
CREATE TABLE payment_name_earlier (
  domain_id BIGINT NOT NULL PRIMARY KEY REFERENCES domain (id),
  before_id BIGINT NOT NULL
);
-- only postgres
ALTER TABLE payment_name_earlier ALTER COLUMN domain_id SET (n_distinct = 100);
-- end
INSERT INTO payment_name_earlier (domain_id, before_id) SELECT id, 9223372036854775807 FROM domain;
