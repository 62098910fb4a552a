-- Account numbers of payments, sealed, with a value in their place by which they are
-- found: those of new databases from the beginning, those of others once an operator
-- says that no version from before serves any more.
ALTER TABLE payment ADD COLUMN payer_number {bytes};
ALTER TABLE payment ADD COLUMN beneficiary_numbers {bytes};
CREATE TABLE sealing (
  only_row        BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  account_numbers BOOLEAN NOT NULL
);
INSERT INTO sealing (only_row, account_numbers) SELECT 1, NOT EXISTS (SELECT 1 FROM payment);
