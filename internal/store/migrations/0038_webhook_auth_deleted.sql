-- A webhook whose authentication provider was deleted holds what is for it until it
-- has another provider.
ALTER TABLE webhook ADD COLUMN auth_deleted BOOLEAN NOT NULL DEFAULT FALSE;
