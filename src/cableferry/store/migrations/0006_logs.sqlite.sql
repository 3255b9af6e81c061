-- what running jobs write: how far each stream has come, and its bytes in rows of bounded size
CREATE TABLE logs (
    key INTEGER PRIMARY KEY,
    job_key INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    stream TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    is_cut INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    sealed_at INTEGER,
    purged_at INTEGER,
    UNIQUE (job_key, attempt, stream)
);
CREATE INDEX logs_open ON logs (job_key) WHERE sealed_at IS NULL;
CREATE INDEX logs_sealed ON logs (sealed_at) WHERE sealed_at IS NOT NULL AND purged_at IS NULL;

CREATE TABLE log_chunks (
    log_key INTEGER NOT NULL REFERENCES logs (key) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (log_key, start)
);

-- who follows what is told to workers, so that they hurry; a note that is not renewed means nothing
CREATE TABLE log_watches (
    job_key INTEGER PRIMARY KEY REFERENCES jobs (key) ON DELETE CASCADE,
    until_at INTEGER NOT NULL
);
CREATE INDEX log_watches_until ON log_watches (until_at);
