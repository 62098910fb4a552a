-- The connections of a connector, so that some can be taken from any place.
CREATE INDEX connection_of_connector ON connection (domain_id, connector_uuid, id) WHERE deleted IS NULL;
