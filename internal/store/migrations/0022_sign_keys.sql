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
