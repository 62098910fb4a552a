-- The key under which the bytes of a file are sealed. Files from before have none, and
-- are as they were.
ALTER TABLE stored_file ADD COLUMN sealed_key {bytes};
