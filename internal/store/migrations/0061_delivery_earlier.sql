-- PostgreSQL also searched for the earlier deliveries of a subject in other indexes of pending
-- deliveries, and then read all deliveries that wait for the webhook. A statement with both of these
-- expressions can use only this index. The new index comes first, because readers wait for a DROP.
CREATE INDEX delivery_earlier ON delivery ((webhook_id + 0), subject, subject_id, version)
  WHERE COALESCE(dropped, delivered) IS NULL;
DROP INDEX delivery_order;
