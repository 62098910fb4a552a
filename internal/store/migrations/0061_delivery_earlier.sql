-- PostgreSQL also searched for the earlier deliveries of a subject in other indexes of pending
-- deliveries, and then read all deliveries that wait for the webhook. A statement that contains both
-- webhook_id + 0 and COALESCE(dropped, delivered) can use only this index. The index delivery_order
-- serves processes of the previous version. A later release removes it.
CREATE INDEX delivery_earlier ON delivery ((webhook_id + 0), subject, subject_id, version)
  WHERE COALESCE(dropped, delivered) IS NULL;
