-- A provider is deleted only when no webhook has it.
CREATE INDEX webhook_by_auth ON webhook (domain_id, auth_id, id) WHERE auth_id IS NOT NULL AND deleted IS NULL;
