-- The chains of the audit log: where each of them ends, whose turn it is to
-- lengthen them, and what the log is looked up by.

-- The last act of each chain, kept apart from the log, so that a log that was cut
-- off is seen. Acts that are of no domain are in chain 0.
CREATE TABLE audit_end (
  chain  BIGINT NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL CHECK (number > 0),
  hash   {bytes} NOT NULL
);

-- One process at a time gives acts their places.
CREATE TABLE audit_turn (
  only_row    BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  holder      TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);
INSERT INTO audit_turn (only_row, holder, lease_until) VALUES (1, '', 0);

CREATE INDEX audit_of_subject ON audit (subject, subject_id, at, id) WHERE subject IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at, id);
-- only sqlite
CREATE TRIGGER audit_begins_unchained BEFORE INSERT ON audit WHEN NEW.number IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'an act gets its place in the audit log afterwards');
END;
CREATE TRIGGER audit_end_goes_on BEFORE UPDATE ON audit_end WHEN NEW.chain <> OLD.chain OR NEW.number <= OLD.number
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
CREATE TRIGGER audit_end_stays BEFORE DELETE ON audit_end
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never rewritten');
END;
-- end
-- only postgres
CREATE TRIGGER audit_begins_unchained BEFORE INSERT ON audit
  FOR EACH ROW WHEN (NEW.number IS NOT NULL) EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_end_goes_on BEFORE UPDATE ON audit_end
  FOR EACH ROW WHEN (NEW.chain <> OLD.chain OR NEW.number <= OLD.number) EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_end_stays BEFORE DELETE ON audit_end
  FOR EACH ROW EXECUTE FUNCTION audit_stays();
CREATE TRIGGER audit_end_is_not_emptied BEFORE TRUNCATE ON audit_end
  FOR EACH STATEMENT EXECUTE FUNCTION audit_stays();
-- end
