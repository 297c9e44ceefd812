-- Finds the jobs whose schedules a changed calendar may move; most jobs use none.
CREATE INDEX jobs_with_calendar ON jobs (tenant) WHERE timing ? 'calendar';
