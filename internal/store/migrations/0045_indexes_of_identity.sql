-- PostgreSQL plans the check of a reference once, on tables that are empty, where all
-- indexes that begin with the domain look alike: it takes the newest. A payment was then
-- looked for among all of a client, until there were statistics. So the index of the key
-- is made anew, and is the newest; an index of all payments that comes later takes its
-- place again. The references are checked anew meanwhile.
-- only postgres
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
ALTER TABLE attempt DROP CONSTRAINT attempt_domain_id_payment_id_fkey;
ALTER TABLE instruction DROP CONSTRAINT instruction_domain_id_payment_id_fkey;
ALTER TABLE payment_evidence DROP CONSTRAINT payment_evidence_domain_id_payment_id_fkey;
ALTER TABLE payment_given DROP CONSTRAINT payment_given_domain_id_payment_id_fkey;
ALTER TABLE payment_identity DROP CONSTRAINT payment_identity_domain_id_payment_id_fkey;
ALTER TABLE payment_note DROP CONSTRAINT payment_note_domain_id_payment_id_fkey;
DROP INDEX payment_by_id;
CREATE UNIQUE INDEX payment_by_id ON payment (domain_id, id);
ALTER TABLE attempt ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
ALTER TABLE instruction ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
ALTER TABLE payment_evidence ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
ALTER TABLE payment_given ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
ALTER TABLE payment_identity ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
ALTER TABLE payment_note ADD FOREIGN KEY (domain_id, payment_id) REFERENCES payment (domain_id, id);
-- end

-- For some connection of a domain that is well, whoever's it is.
CREATE INDEX connection_well ON connection (domain_id, id) WHERE state IS NULL AND deleted IS NULL;

-- Of the connections of a user there are fewer than of any other kind, and for PostgreSQL
-- the newest of what looks alike, see above.
-- only postgres
DROP INDEX connection_of_user;
CREATE INDEX connection_of_user ON connection (domain_id, user_id, id) WHERE deleted IS NULL;
-- end

-- For what an application leaves when it is deleted.
CREATE INDEX user_token_of_client ON user_token (client_id) WHERE client_id IS NOT NULL;
