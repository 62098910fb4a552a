-- Each event is written once for each webhook that wants it, and every index
-- costs as much as the row: one serves what was tried and what was not, and
-- lists without a state read the states one after the other.
CREATE INDEX delivery_waiting ON delivery (webhook_id, (CASE WHEN attempts > 0 THEN 1 ELSE 0 END), id)
  WHERE delivered IS NULL AND dropped IS NULL;
DROP INDEX delivery_new;
DROP INDEX delivery_undelivered;
DROP INDEX delivery_by_time;
