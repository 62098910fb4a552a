-- How often a bank has reported by itself, or sent the payer back while it could not be asked. When
-- the number grows during a call to the bank, the bank is asked again after the call.
ALTER TABLE payment ADD COLUMN bank_reports BIGINT NOT NULL DEFAULT 0;
-- The query with which the bank sent the payer back, sealed, until the bank has been asked with it.
-- It is with the first attempt, which is the order.
ALTER TABLE attempt ADD COLUMN callback {bytes};
