-- What is added to each payload of a webhook: names of members, and the keys of what is
-- noted about users, as a JSON object.
ALTER TABLE webhook ADD COLUMN add_to_data TEXT NOT NULL DEFAULT '{}';
