"""`http`: a signed webhook, sent by this process or handed to a courier."""
