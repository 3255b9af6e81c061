-- what a worker's requests tell besides what they ask, and since when somebody wants it to take no more jobs
ALTER TABLE workers ADD COLUMN agent TEXT;
ALTER TABLE workers ADD COLUMN clock_ahead INTEGER;
ALTER TABLE workers ADD COLUMN trouble TEXT;
ALTER TABLE workers ADD COLUMN drained_at INTEGER;
ALTER TABLE workers ADD COLUMN drained_by TEXT;

-- what a worker ended lately, and what happened lately to all jobs
CREATE INDEX jobs_ended_by ON jobs (worker, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX transitions_at ON transitions (at, job_key, seq);

-- how many bytes of files came and went, by minute
CREATE TABLE traffic (
    at INTEGER PRIMARY KEY,
    received INTEGER NOT NULL,
    sent INTEGER NOT NULL
);

-- what people did besides jobs, whose own history tells of them
CREATE TABLE deeds (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    what TEXT NOT NULL,
    about TEXT
);
CREATE INDEX deeds_at ON deeds (at, key);
