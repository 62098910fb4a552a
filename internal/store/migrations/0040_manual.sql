-- Transactions and documents that a program created: no institution says anything of
-- them, and no synchronisation takes them away.
ALTER TABLE bank_transaction ADD COLUMN manual BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE document ADD COLUMN manual BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX transaction_manual ON bank_transaction (account_id, epoch) WHERE manual;

-- Visits of all connections of a user by time.
CREATE INDEX connection_log_of_user ON connection_log (domain_id, user_id, at, id);
