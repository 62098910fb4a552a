-- Requests for a delivery in the order of time, which ids are not where several
-- processes send: each has its own.

CREATE INDEX delivery_attempt_in_order ON delivery_attempt (delivery_id, at, id);
DROP INDEX delivery_attempt_by_delivery;
