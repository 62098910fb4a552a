-- The calls to the bank whose answers led to an entry of the timeline, each with its id at the bank
-- (X-Request-ID); NULL without one.
ALTER TABLE payment_transition ADD COLUMN bank_requests TEXT;
ALTER TABLE payment_note ADD COLUMN bank_requests TEXT;
