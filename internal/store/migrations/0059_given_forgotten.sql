-- Personal data that serves only a payment in the state created: the store removes it when the payment
-- leaves this state.
DELETE FROM payment_given WHERE payment_id IN (SELECT id FROM payment WHERE state <> 'created');
UPDATE attempt SET device = NULL WHERE device IS NOT NULL AND payment_id IN (SELECT id FROM payment WHERE state <> 'created');
