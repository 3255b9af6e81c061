-- which worker should run a job, for which alone it is kept, and what was said of it in its contract's own terms
ALTER TABLE jobs ADD COLUMN preferred_worker TEXT;
ALTER TABLE jobs ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN kept_for TEXT;
ALTER TABLE jobs ADD COLUMN remarks TEXT;
ALTER TABLE transitions ADD COLUMN remarks TEXT;
DROP INDEX jobs_ready;
CREATE INDEX jobs_ready ON jobs (pool, processor, coalesce(profile, ''), coalesce(kept_for, ''), priority DESC, key)
    WHERE state = 'ready';

-- what a worker says of itself, and when it must be heard of again
ALTER TABLE workers ADD COLUMN info TEXT;
ALTER TABLE workers ADD COLUMN due_at INTEGER;
CREATE INDEX workers_due ON workers (pool, due_at) WHERE due_at IS NOT NULL;

-- jobs that look different since they were last shown outside the database
CREATE TABLE unprojected (
    pool TEXT NOT NULL,
    job_id TEXT NOT NULL,
    marked_at INTEGER NOT NULL,
    PRIMARY KEY (pool, job_id)
) WITHOUT ROWID;
CREATE INDEX unprojected_marked ON unprojected (pool, marked_at);
