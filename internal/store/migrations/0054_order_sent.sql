-- When an order was about to be sent, by the database's clock: banks recognise the key of an
-- order for a limited time. It is with the first attempt, which is the order; NULL for orders
-- of earlier versions, which are too old to be sent again.
ALTER TABLE attempt ADD COLUMN sent BIGINT;
