-- The channel of its connector that a payment went through. Of payments validated
-- before, nobody noted it.
ALTER TABLE payment ADD COLUMN source_id BIGINT;
