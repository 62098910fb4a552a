-- How many requests of an hour got as far as their receiver: those that did not,
-- for want of an access token for example, say nothing of how long it takes.
ALTER TABLE webhook_health ADD COLUMN reached BIGINT NOT NULL DEFAULT 0;
UPDATE webhook_health SET reached = requests;
