-- How often all that is below an account or a subscription was read. Rows that
-- change carry the number of the next reading, so that what a visit stored before
-- it broke off is told of by the one that comes to the end. Until now they carried
-- that of the connection's visit.
ALTER TABLE bank_account ADD COLUMN readings BIGINT NOT NULL DEFAULT 0;
UPDATE bank_account SET readings = COALESCE((SELECT c.sync FROM connection c WHERE c.id = bank_account.connection_id), 0);
ALTER TABLE subscription ADD COLUMN readings BIGINT NOT NULL DEFAULT 0;
UPDATE subscription SET readings = COALESCE((SELECT c.sync FROM connection c WHERE c.id = subscription.connection_id), 0);
