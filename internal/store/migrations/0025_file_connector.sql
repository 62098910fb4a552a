-- Files are fetched for each connector by itself, so that one that is slow delays
-- no other. What was uploaded has none.
ALTER TABLE stored_file ADD COLUMN connector TEXT;
UPDATE stored_file SET connector = COALESCE(
  (SELECT c.connector_uuid FROM document d JOIN connection c ON c.id = d.connection_id WHERE d.file_id = stored_file.id),
  (SELECT c.connector_uuid FROM attachment x JOIN bank_account a ON a.id = x.account_id JOIN connection c ON c.id = a.connection_id WHERE x.file_id = stored_file.id))
WHERE NOT uploaded;
DROP INDEX stored_file_to_fetch;
CREATE INDEX stored_file_to_fetch ON stored_file (connector, domain_id, next_fetch) WHERE next_fetch IS NOT NULL;
