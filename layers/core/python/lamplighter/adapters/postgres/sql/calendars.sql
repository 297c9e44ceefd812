-- name: calendars
-- The newest version of each calendar of a tenant.
SELECT DISTINCT ON (name) calendar || jsonb_build_object('version', version)
FROM calendars WHERE tenant = %(tenant)s ORDER BY name, version DESC;

-- name: save_calendar
INSERT INTO calendars (tenant, name, version, calendar)
SELECT %(tenant)s, %(name)s, coalesce(max(version), 0) + 1, %(calendar)s
FROM calendars WHERE tenant = %(tenant)s AND name = %(name)s
RETURNING version;

-- name: plan_anew
-- Schedules that use this calendar are planned from now on once more: a change may have given back
-- days before the fire at which they stand. What is written down already keeps its id and its row.
UPDATE schedules AS s SET next_fire_at = date_trunc('milliseconds', clock_timestamp())
FROM jobs AS j
WHERE j.tenant = %(tenant)s AND j.timing ? 'calendar' AND j.job_id = s.job_id
  AND (j.timing -> 'calendar' -> 'exclude' ? %(name)s OR j.timing -> 'calendar' -> 'only' ? %(name)s)
  AND s.next_fire_at > clock_timestamp();
