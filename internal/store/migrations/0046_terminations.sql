-- Consents that are ended at the institution when their connection is deleted: NULL where
-- there is nothing to end, 0 while the connection lasts, and afterwards when the institution
-- is told. Until it knows, the row and its memory stay.
ALTER TABLE connection ADD COLUMN terminate BIGINT;
CREATE INDEX connection_terminating ON connection (domain_id, terminate, id) WHERE terminate IS NOT NULL AND deleted IS NOT NULL;
