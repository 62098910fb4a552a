-- PostgreSQL also searched for the earlier deliveries of a subject in other indexes of pending
-- deliveries, and then read all deliveries that wait for the webhook. Statements that use these two
-- expressions can use only this index.
DROP INDEX delivery_order;
CREATE INDEX delivery_order ON delivery ((webhook_id + 0), subject, subject_id, version)
  WHERE COALESCE(dropped, delivered) IS NULL;
