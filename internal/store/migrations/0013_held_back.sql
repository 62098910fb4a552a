-- When deliveries that are held back come due.
CREATE INDEX delivery_held_until ON delivery (domain_id, not_before, id) WHERE delivered IS NULL AND dropped IS NULL AND not_before > 0;
