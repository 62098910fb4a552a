-- Where a person comes back to who lets an institution be read on a page of its
-- own: one place for each connection that waits for it.
CREATE TABLE connection_return (
  connection_id BIGINT PRIMARY KEY REFERENCES connection (id),
  domain_id     BIGINT NOT NULL REFERENCES domain (id),
  user_id       BIGINT NOT NULL,
  -- What the address of the way back has to carry, once.
  nonce         {bytes} NOT NULL,
  -- Where the client wants the person in the end, and what to bring it.
  redirect_uri  TEXT,
  client_state  TEXT
);
CREATE INDEX connection_return_of_user ON connection_return (domain_id, user_id);
