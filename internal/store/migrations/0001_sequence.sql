-- The next id of each sequence; a process reserves ids in blocks.
CREATE TABLE sequence (
	name TEXT NOT NULL PRIMARY KEY,
	next BIGINT NOT NULL CHECK (next > 0)
);
