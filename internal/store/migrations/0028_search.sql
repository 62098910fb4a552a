-- Payments are looked for by the end of an account number and by how the label of
-- a line begins. The indexes of ends hold four characters of a number.
-- new_end says whether no line before this one is to an account of the same end.
ALTER TABLE instruction ADD COLUMN new_end BOOLEAN NOT NULL DEFAULT TRUE;
UPDATE instruction SET new_end = FALSE WHERE position > 0 AND EXISTS (
  SELECT 1 FROM instruction other WHERE other.payment_id = instruction.payment_id AND other.position < instruction.position
    AND substr(other.beneficiary_identification, length(other.beneficiary_identification) - 3) =
      substr(instruction.beneficiary_identification, length(instruction.beneficiary_identification) - 3));
CREATE INDEX instruction_of_end ON instruction
  (domain_id, substr(beneficiary_identification, length(beneficiary_identification) - 3), registered, payment_id) WHERE new_end;
CREATE INDEX payment_of_payer_end ON payment
  (domain_id, substr(payer_identification, length(payer_identification) - 3), registered, id) WHERE payer_identification IS NOT NULL;

-- Labels in folded case and the order of their bytes. Of the lines of a payment
-- in that order, label_shared is how many bytes a label has in common with the
-- one before it: the one line that shares fewer than are looked for stands for
-- all that begin with them. Older payments are found by their first line.
-- only sqlite
ALTER TABLE instruction ADD COLUMN label_folded TEXT NOT NULL DEFAULT '';
-- end
-- only postgres
ALTER TABLE instruction ADD COLUMN label_folded TEXT COLLATE "C" NOT NULL DEFAULT '';
-- end
ALTER TABLE instruction ADD COLUMN label_shared BIGINT NOT NULL DEFAULT 0;
UPDATE instruction SET label_folded = LOWER(label), label_shared = CASE WHEN position = 0 THEN 0 ELSE 1000000 END;
CREATE INDEX instruction_of_label ON instruction (domain_id, label_folded, payment_id, label_shared);

CREATE INDEX payment_of_client ON payment (domain_id, client_id, registered, id);
