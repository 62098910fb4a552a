-- The complete read of the account that found the transaction booked. It is NULL until the first
-- update of the booked transaction; changed then has this number.
ALTER TABLE bank_transaction ADD COLUMN booked BIGINT;
