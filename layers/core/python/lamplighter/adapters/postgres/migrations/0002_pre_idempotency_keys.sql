-- Keys of changes, for a day: the same request again is answered as it was, another one is refused.
-- Submissions need no row here, since their jobs' ids are derived from their keys.
CREATE TABLE idempotency_keys (
    tenant      text        NOT NULL,
    route       text        NOT NULL,   -- method and path
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,   -- of the body
    used_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    answer      json,                   -- null until there is one; json keeps the order of fields
    PRIMARY KEY (tenant, route, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (used_at);
