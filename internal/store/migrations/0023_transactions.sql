-- How often all that is below an account or a subscription was read. Rows that
-- change carry the number of the next reading, so that what a visit stored before
-- it broke off is told of by the one that comes to the end. Until now they carried
-- that of the connection's visit.
ALTER TABLE bank_account ADD COLUMN readings BIGINT NOT NULL DEFAULT 0;
UPDATE bank_account SET readings = COALESCE((SELECT c.sync FROM connection c WHERE c.id = bank_account.connection_id), 0);
ALTER TABLE subscription ADD COLUMN readings BIGINT NOT NULL DEFAULT 0;
UPDATE subscription SET readings = COALESCE((SELECT c.sync FROM connection c WHERE c.id = subscription.connection_id), 0);

-- Labels as they are searched, in folded case. What is older is folded by the database, which may know fewer letters.
ALTER TABLE bank_transaction ADD COLUMN folded TEXT NOT NULL DEFAULT '';
ALTER TABLE bank_transaction ADD COLUMN custom_folded TEXT;
UPDATE bank_transaction SET folded = LOWER(wording), custom_folded = LOWER(custom_wording);

-- What a connection has may be little and old beside what else its user has.
ALTER TABLE bank_transaction ADD COLUMN connection_id BIGINT NOT NULL DEFAULT 0;
UPDATE bank_transaction SET connection_id = COALESCE((SELECT a.connection_id FROM bank_account a WHERE a.id = bank_transaction.account_id), 0);
CREATE INDEX transaction_of_connection ON bank_transaction (connection_id, application_date, id);
CREATE INDEX transaction_of_connection_by_date ON bank_transaction (connection_id, date, id);
ALTER TABLE document ADD COLUMN connection_id BIGINT NOT NULL DEFAULT 0;
UPDATE document SET connection_id = COALESCE((SELECT s.connection_id FROM subscription s WHERE s.id = document.subscription_id), 0);
CREATE INDEX document_of_connection ON document (connection_id, date, id);

-- What changed is told of page by page, in the order of ids.
DROP INDEX transaction_changed;
CREATE INDEX transaction_changed ON bank_transaction (account_id, epoch, changed, id);
DROP INDEX document_changed;
CREATE INDEX document_changed ON document (subscription_id, epoch, changed, id);

-- A visit begins with what its connection has.
CREATE INDEX bank_account_of_connection ON bank_account (connection_id, id);
CREATE INDEX subscription_of_connection ON subscription (connection_id, id);
