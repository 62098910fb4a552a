-- The event of one account names it: a body in a format without a place for ids
-- leaves that to headers.
ALTER TABLE event ADD COLUMN account_id BIGINT;
