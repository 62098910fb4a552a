-- What of a request was signed: the text up to the payload, the signature, and
-- the one by the next secret while there are two. An address and a secret may
-- change; what was sent does not.
ALTER TABLE delivery_attempt ADD COLUMN signed TEXT;
ALTER TABLE delivery_attempt ADD COLUMN signature TEXT;
ALTER TABLE delivery_attempt ADD COLUMN next_signature TEXT;
