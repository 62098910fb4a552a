-- The device of the payer when they validated, sealed, for an order that is sent again.
-- It is with the first attempt, which is the order.
ALTER TABLE attempt ADD COLUMN device {bytes};
