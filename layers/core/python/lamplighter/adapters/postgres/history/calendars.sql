-- The newest version of each; the first holds for as long as anybody can have referred to it.
SELECT DISTINCT ON (name) calendar, version, CASE WHEN version > 1 THEN created_at END
FROM calendars
WHERE tenant = %(tenant)s
ORDER BY name, version DESC
