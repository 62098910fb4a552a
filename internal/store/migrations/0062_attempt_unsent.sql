-- Whether the bank certainly received nothing. A payer's agreement that was not sent does not revoke
-- an abandonment. Processes of the previous version leave the default.
ALTER TABLE attempt ADD COLUMN unsent BOOLEAN NOT NULL DEFAULT FALSE;
