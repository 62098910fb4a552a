-- The trace in which something happened, as the header traceparent names it; NULL for none.
ALTER TABLE event ADD COLUMN trace TEXT;
ALTER TABLE attempt ADD COLUMN trace TEXT;
