-- The rollups of some minutes, by the primary key.
SELECT minute, pool, class, status, runs, duration_ms, lateness_ms, max_lateness_ms
FROM stats_minute
WHERE minute >= %(since)s AND minute < %(until)s AND tenant = %(tenant)s
ORDER BY minute, pool, class, status
LIMIT %(limit)s
