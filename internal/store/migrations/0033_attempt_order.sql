-- Requests for a delivery in the order of time, which ids are not where several
-- processes send: each has its own. The old index goes first: its lock is the one
-- that others keep waiting, and is had before the work begins.

DROP INDEX delivery_attempt_by_delivery;
CREATE INDEX delivery_attempt_in_order ON delivery_attempt (delivery_id, at, id);
