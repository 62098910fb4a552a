-- What a connector keeps of an order between its calls to the bank, sealed. It is with
-- the first attempt, which is the order.
ALTER TABLE attempt ADD COLUMN memory {bytes};
