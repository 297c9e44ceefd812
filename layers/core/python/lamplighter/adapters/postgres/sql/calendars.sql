-- name: calendars
-- The newest version of each calendar of a tenant.
SELECT DISTINCT ON (name) calendar || jsonb_build_object('version', version)
FROM calendars WHERE tenant = %(tenant)s ORDER BY name, version DESC;

-- name: save_calendar
INSERT INTO calendars (tenant, name, version, calendar)
SELECT %(tenant)s, %(name)s, coalesce(max(version), 0) + 1, %(calendar)s
FROM calendars WHERE tenant = %(tenant)s AND name = %(name)s
RETURNING version;
