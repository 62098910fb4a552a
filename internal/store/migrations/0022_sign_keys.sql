-- Key pairs with which the answers of a domain are signed, the private half
-- sealed. The newest signs; earlier ones still check what they signed.
CREATE TABLE sign_key (
  id         {id},
  domain_id  BIGINT NOT NULL REFERENCES domain (id),
  number     BIGINT NOT NULL,
  public     TEXT NOT NULL,
  private    {bytes} NOT NULL,
  created    BIGINT NOT NULL,
  deprecated BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (domain_id, number)
);

-- True once a person has shared something through a connection, until it was read:
-- that read is on their behalf, and not one of those that are counted.
ALTER TABLE connection ADD COLUMN read_soon BOOLEAN NOT NULL DEFAULT FALSE;
