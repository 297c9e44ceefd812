-- The whole schema as the migrations leave it, to be read: nothing executes this file but the test
-- that compares the two. Change it together with a new migration. The days of `job_runs` are made by
-- partitions.py, each with fillfactor 35.

-- The ledger: jobs, their schedules, and one row for every fire.
-- Invariants are CHECKs; what depends on two rows is kept by the queries and proved by `verify`.

-- Which migrations have been applied, and what they said (see migrate.py).
CREATE TABLE schema_migrations (
    name       text        PRIMARY KEY,
    digest     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- The fire of a run, read from its key (see domain/ids.py).
CREATE FUNCTION fire_of(run_id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN timestamptz 'epoch'
       + ('x' || translate(left(run_id::text, 13), '-', ''))::bit(48)::bigint * interval '1 ms';

CREATE TABLE jobs (
    job_id                 uuid        PRIMARY KEY,
    tenant                 text        NOT NULL CHECK (tenant <> ''),
    name                   text        NOT NULL CHECK (name <> ''),
    schedule_type          text        NOT NULL,
    status                 smallint    NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 4),
    schedule_time          timestamptz,
    cron_expression        text,
    timing                 jsonb,      -- every other field of the schedule; null: all default
    payload                jsonb,
    target                 jsonb,
    max_retries            smallint    NOT NULL DEFAULT 3 CHECK (max_retries >= 0),
    priority               smallint    NOT NULL DEFAULT 5 CHECK (priority BETWEEN 1 AND 10),
    pool                   text        NOT NULL DEFAULT 'default',
    timeout_seconds        integer     CHECK (timeout_seconds > 0),
    start_deadline_seconds integer     CHECK (start_deadline_seconds > 0),
    expires_at             timestamptz,
    overlap                text        NOT NULL DEFAULT 'allow'
                           CHECK (overlap IN ('allow', 'forbid', 'queue', 'replace')),
    ordering_key           text,
    concurrency_key        text        CHECK (concurrency_key IS NULL OR max_concurrency IS NOT NULL),
    max_concurrency        integer     CHECK (max_concurrency > 0),
    -- A run of a keyed job must take slots; all others go the fast way.
    keyed                  boolean     NOT NULL GENERATED ALWAYS AS (
                               overlap <> 'allow' OR ordering_key IS NOT NULL
                               OR max_concurrency IS NOT NULL) STORED,
    repeats                boolean     NOT NULL,  -- by its own schedule, or an upstream's
    has_upstreams          boolean     NOT NULL,
    tags                   text[],
    policy                 jsonb,      -- what only the code reads; null: all default
    fingerprint            bytea,
    version                integer     NOT NULL DEFAULT 1 CHECK (version > 0),
    created_at             timestamptz NOT NULL DEFAULT now(),
    updated_at             timestamptz NOT NULL DEFAULT now(),
    CHECK (schedule_type IN ('IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL', 'AFTER')),
    CHECK ((schedule_type IN ('IMMEDIATE', 'FUTURE')) = (schedule_time IS NOT NULL)),
    CHECK ((schedule_type = 'CRON') = (cron_expression IS NOT NULL))
);
-- Who shares a deployment pays for finding their own; a team alone in its own lists by primary key.
CREATE INDEX jobs_by_tenant ON jobs (tenant, job_id) WHERE tenant <> 'default';
-- Finds the jobs whose schedules a changed calendar may move; most jobs use none.
CREATE INDEX jobs_with_calendar ON jobs (tenant) WHERE timing ? 'calendar';
-- Finds what was cancelled or refused and leaves after the retention.
CREATE INDEX jobs_ended ON jobs (updated_at, job_id) WHERE status >= 3;

-- What a job was before its last change, with the time in which that held: append-only. The
-- present version is the row in `jobs`, so a job that never changes costs nothing here.
CREATE TABLE job_versions (
    job_id     uuid        NOT NULL,
    version    integer     NOT NULL,
    tenant     text        NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to   timestamptz NOT NULL,
    job        jsonb       NOT NULL,   -- the whole row as it was
    PRIMARY KEY (job_id, version),
    CHECK (valid_from <= valid_to)
);
CREATE INDEX job_versions_by_age ON job_versions (valid_to);

-- Narrow and hot: when each job fires next, beyond what the ledger already holds.
CREATE TABLE schedules (
    job_id       uuid        PRIMARY KEY,
    tenant       text        NOT NULL,
    next_fire_at timestamptz NOT NULL,
    version      integer     NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX schedules_due ON schedules (next_fire_at, job_id);

-- One row for every fire, per pool and origin. The key is the time (see domain/ids.py), so "what is
-- due" is a range of it, and a day of it is a partition.
-- No index may name status, fence, executor_id or modified_time, in key or predicate: claim and
-- completion would stop being HOT updates (docs/decisions/0001-hot-updates.md).
CREATE TABLE job_runs (
    run_id         uuid        NOT NULL,
    job_id         uuid        NOT NULL,
    tenant         text        NOT NULL,
    pool           text        NOT NULL,
    origin         text        NOT NULL DEFAULT 'schedule',
    status         smallint    NOT NULL DEFAULT 1,
    priority       smallint    NOT NULL CHECK (priority BETWEEN 1 AND 10),
    attempt_number integer     NOT NULL DEFAULT 1 CHECK (attempt_number > 0),
    fence          integer     NOT NULL DEFAULT 0 CHECK (fence >= 0),
    losses         smallint    NOT NULL DEFAULT 0 CHECK (losses >= 0),
    slotted        boolean     NOT NULL DEFAULT false,  -- may hold slots or wait for them
    excused        boolean     NOT NULL DEFAULT false,  -- waited for an upstream or a slot
    delay_ms       integer     NOT NULL DEFAULT 0 CHECK (delay_ms >= 0),  -- jitter
    created_at     timestamptz NOT NULL DEFAULT now(),
    modified_time  timestamptz NOT NULL DEFAULT now(),
    wake_at        timestamptz,        -- when to look at it again; null if it goes to plan
    start_time     timestamptz,
    end_time       timestamptz,
    executor_id    text,
    reason         smallint,
    missed_to      timestamptz,
    missed_count   integer     NOT NULL DEFAULT 1 CHECK (missed_count > 0),
    error_message  text,
    log_url        text,
    result         jsonb,
    stdout         text,
    stderr         text,
    PRIMARY KEY (run_id),
    CHECK (status IN (1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14)),
    CHECK ((status >= 10) = (end_time IS NOT NULL)),
    CHECK ((status = 14) = (reason IS NOT NULL)),
    CHECK (status NOT IN (4, 7) OR (executor_id IS NOT NULL AND start_time IS NOT NULL)),
    CHECK (status < 10 OR wake_at IS NULL),
    CHECK (status NOT IN (4, 7) OR wake_at IS NULL),
    CHECK (status NOT IN (2, 5, 6) OR wake_at IS NOT NULL),
    CHECK (missed_count = 1 OR missed_to IS NOT NULL)
) PARTITION BY RANGE (run_id);
CREATE INDEX job_runs_of_job ON job_runs (job_id, run_id);
CREATE INDEX job_runs_awake ON job_runs (wake_at) WHERE wake_at IS NOT NULL;

-- Each attempt that did not end in success, and its error.
CREATE TABLE run_attempts (
    run_id         uuid        NOT NULL,
    fence          integer     NOT NULL,
    tenant         text        NOT NULL,
    attempt_number integer     NOT NULL,
    verdict        text        NOT NULL,
    started_at     timestamptz,
    ended_at       timestamptz NOT NULL,
    executor_id    text,
    error_message  text,
    PRIMARY KEY (run_id, fence)
);

CREATE TABLE job_dependencies (
    job_id         uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    upstream_id    uuid NOT NULL REFERENCES jobs,
    tenant         text NOT NULL,
    position       integer NOT NULL,   -- as written in `after`
    rule           text NOT NULL CHECK (rule IN ('same_fire', 'latest_success', 'next_after')),
    within_seconds integer CHECK (within_seconds > 0),
    PRIMARY KEY (job_id, upstream_id),
    CHECK (job_id <> upstream_id)
);
CREATE INDEX job_dependencies_of_upstream ON job_dependencies (upstream_id, job_id);

CREATE TABLE workers (
    worker_id     text        PRIMARY KEY,
    pool          text        NOT NULL,
    capacity      integer     NOT NULL CHECK (capacity >= 0),
    started_at    timestamptz NOT NULL DEFAULT now(),
    heartbeat_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- One row per claimed batch finds the runs of a dead worker without an index on the ledger.
CREATE TABLE claims (
    claim_id    uuid        PRIMARY KEY,
    worker_id   text        NOT NULL,
    run_ids     uuid[]      STORAGE EXTERNAL NOT NULL,  -- ids do not compress: do not try
    claimed_at  timestamptz NOT NULL DEFAULT now(),
    reported_at timestamptz
) WITH (fillfactor = 70);
CREATE INDEX claims_of_worker ON claims (worker_id);

-- Running runs that somebody wants stopped, by worker: empty but for a moment.
CREATE TABLE cancellations (
    run_id       uuid        PRIMARY KEY,
    worker_id    text        NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cancellations_of_worker ON cancellations (worker_id);

-- Who holds which slot of a key. Slot 0 is nobody's: it is the row that locks the key.
CREATE TABLE slots (
    key    text    NOT NULL,
    n      integer NOT NULL CHECK (n >= 0),
    run_id uuid,
    PRIMARY KEY (key, n),
    CHECK ((n = 0) = (run_id IS NULL))
);
CREATE INDEX slots_of_run ON slots (run_id) WHERE run_id IS NOT NULL;

-- Who waits for a slot of a key, first in first out by fire, then by arrival.
CREATE TABLE slot_queue (
    key       text        NOT NULL,
    fire_at   timestamptz NOT NULL,
    seq       bigint      GENERATED ALWAYS AS IDENTITY,
    run_id    uuid        NOT NULL,
    max_slots integer     NOT NULL CHECK (max_slots > 0),
    PRIMARY KEY (key, fire_at, seq)
);
CREATE UNIQUE INDEX slot_queue_of_run ON slot_queue (run_id, key);

CREATE TABLE leases (
    name       text        PRIMARY KEY,
    holder     text        NOT NULL,
    epoch      bigint      NOT NULL CHECK (epoch > 0),
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- One row: which days have partitions, how far loading has come, and below which fire nothing waits.
-- A candidate watermark waits for `barrier`: every transaction open when it was set has ended.
CREATE TABLE ledger_bounds (
    only_row   boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    ready_from timestamptz NOT NULL,
    ready_to   timestamptz NOT NULL,
    loaded_to  timestamptz NOT NULL,
    watermark  timestamptz NOT NULL,
    candidate  timestamptz,
    barrier    xid8,
    CHECK (ready_from <= ready_to),
    CHECK ((candidate IS NULL) = (barrier IS NULL)),
    CHECK (candidate >= watermark)
);
INSERT INTO ledger_bounds (ready_from, ready_to, loaded_to, watermark)
VALUES (date_trunc('day', now(), 'UTC'), date_trunc('day', now(), 'UTC'),
        now() - interval '5 s', now() - interval '5 s');

CREATE TABLE calendars (
    tenant     text        NOT NULL,
    name       text        NOT NULL,
    version    integer     NOT NULL CHECK (version > 0),
    calendar   jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, name, version)
);

CREATE TABLE api_keys (
    key_id     uuid        PRIMARY KEY,
    tenant     text        NOT NULL,
    name       text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('reader', 'submitter', 'admin')),
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);

CREATE TABLE audit_log (
    audit_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant   text        NOT NULL,
    actor    text        NOT NULL,
    action   text        NOT NULL,
    subject  text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    detail   jsonb
);
CREATE INDEX audit_log_by_tenant ON audit_log (tenant, at);
CREATE INDEX audit_log_by_age ON audit_log (at);

-- Rollups by minute: the dashboard never counts rows.
CREATE TABLE stats_minute (
    minute       timestamptz NOT NULL,
    tenant       text        NOT NULL,
    pool         text        NOT NULL,
    class        smallint    NOT NULL CHECK (class BETWEEN 1 AND 4),
    status       smallint    NOT NULL CHECK (status >= 10),
    runs         bigint      NOT NULL CHECK (runs > 0),
    duration_ms  bigint      NOT NULL CHECK (duration_ms >= 0),
    lateness_ms  bigint      NOT NULL,
    max_lateness_ms bigint   NOT NULL,
    PRIMARY KEY (minute, tenant, pool, class, status)
);

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
