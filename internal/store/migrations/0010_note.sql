-- The bank's own word where a bank was heard, and the day of an occurrence, of
-- which a bank may tell much later.
ALTER TABLE payment_note ADD COLUMN bank_status TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_note ADD COLUMN day TEXT;
