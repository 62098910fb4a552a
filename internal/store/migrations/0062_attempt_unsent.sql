-- Whether the order or answer had no effect at the bank. A payer's agreement without an effect does
-- not revoke an abandonment. Processes of the previous version leave the default.
ALTER TABLE attempt ADD COLUMN unsent BOOLEAN NOT NULL DEFAULT FALSE;
