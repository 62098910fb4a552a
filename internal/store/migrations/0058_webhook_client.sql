-- A webhook belongs to one client for ever, not to the only client at the time of a request. A
-- client that was created after the deletion of another one does not get the other one's webhooks.
UPDATE webhook SET client_id = (SELECT min(c.id) FROM client c WHERE c.domain_id = webhook.domain_id AND c.deleted IS NULL)
  WHERE client_id IS NULL
    AND (SELECT count(*) FROM client c WHERE c.domain_id = webhook.domain_id AND c.deleted IS NULL) = 1
    AND NOT EXISTS (SELECT 1 FROM client c WHERE c.domain_id = webhook.domain_id AND c.deleted >= webhook.created);
-- Webhooks of a deleted client belong to no client.
UPDATE webhook SET client_id = NULL
  WHERE EXISTS (SELECT 1 FROM client c WHERE c.id = webhook.client_id AND c.deleted IS NOT NULL);
