-- What operators see of credentials, of the configuration and of connections.

-- When an application and a token that does not expire were last used, to the
-- hour.
ALTER TABLE client ADD COLUMN last_used BIGINT;
ALTER TABLE token ADD COLUMN last_used BIGINT;
-- Those of the operator's own programs, which are few among those of users.
CREATE INDEX token_of_program ON token (domain_id, id) WHERE kind IN ('config', 'users');

-- Who gave a key the value it has, and the changes of one key.
ALTER TABLE setting ADD COLUMN changed_by TEXT NOT NULL DEFAULT '';
UPDATE setting SET changed_by = COALESCE((SELECT changed_by FROM setting_change c
  WHERE c.domain_id = setting.domain_id AND c.key = setting.key ORDER BY c.at DESC, c.id DESC LIMIT 1), '');
CREATE INDEX setting_change_of_key ON setting_change (domain_id, key, at, id);

-- Connections that could not be read when they were last tried, page by page: of
-- all connectors, and of one.
DROP INDEX connection_in_trouble;
CREATE INDEX connection_in_trouble ON connection (domain_id, state, id) WHERE state IS NOT NULL AND deleted IS NULL;
CREATE INDEX connection_in_trouble_at ON connection (domain_id, connector_uuid, state, id) WHERE state IS NOT NULL AND deleted IS NULL;
