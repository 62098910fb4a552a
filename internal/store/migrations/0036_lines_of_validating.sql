-- The lines of a payment are pending from the moment it is validating. Those of
-- payments that were validated and expired without an approval are rejected; of the
-- others that expired nobody knows more.
UPDATE instruction SET state = 'pending'
	WHERE state IS NULL AND payment_id IN (SELECT id FROM payment WHERE state = 'validating');
UPDATE instruction SET state = 'rejected', error_code = 'noAnswerFromCustomer'
	WHERE state IS NULL AND payment_id IN (SELECT id FROM payment WHERE state = 'expired' AND validated IS NOT NULL);
