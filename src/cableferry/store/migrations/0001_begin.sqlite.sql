CREATE TABLE jobs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    pool TEXT NOT NULL,
    state TEXT NOT NULL,
    wish TEXT,
    cause TEXT,
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    processor TEXT NOT NULL,
    profile TEXT,
    priority INTEGER NOT NULL,
    timeout_seconds INTEGER,
    submit_user TEXT,
    created_by TEXT,
    worker TEXT,
    slurm_job_id TEXT,
    output_artifact_id TEXT,
    log_artifact_id TEXT,
    detail TEXT,
    phase TEXT,
    message TEXT,
    progress REAL,
    created_at INTEGER NOT NULL,
    moved_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    claimed_at INTEGER,
    submitted_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    due_at INTEGER,
    ends_by INTEGER
);
CREATE INDEX jobs_ready ON jobs (pool, processor, coalesce(profile, ''), priority DESC, key) WHERE state = 'ready';
CREATE INDEX jobs_queue ON jobs (pool, priority DESC, key) WHERE state = 'ready';
CREATE INDEX jobs_held ON jobs (worker, processor, profile)
    WHERE state = 'claimed' OR state = 'submitted' OR state = 'running' OR state = 'suspect';
CREATE INDEX jobs_ended ON jobs (pool, state, key)
    WHERE state = 'succeeded' OR state = 'failed' OR state = 'cancelled';
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE job_bodies (
    job_key INTEGER PRIMARY KEY REFERENCES jobs (key) ON DELETE CASCADE,
    parameters TEXT NOT NULL,
    inputs TEXT NOT NULL
);

CREATE TABLE transitions (
    job_key INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    old TEXT,
    new TEXT NOT NULL,
    cause TEXT,
    actor TEXT,
    at INTEGER NOT NULL,
    worker TEXT,
    detail TEXT,
    slurm_job_id TEXT,
    output_artifact_id TEXT,
    log_artifact_id TEXT,
    phase TEXT,
    message TEXT,
    progress REAL,
    PRIMARY KEY (job_key, seq)
) WITHOUT ROWID;

CREATE TABLE tombstones (
    job_id TEXT PRIMARY KEY,
    worker TEXT,
    state TEXT NOT NULL,
    deleted_by TEXT,
    deleted_at INTEGER NOT NULL,
    slurm_job_id TEXT
) WITHOUT ROWID;
CREATE INDEX tombstones_at ON tombstones (deleted_at);

-- how many jobs are in each state, kept by triggers so that a count costs the same at any size
CREATE TABLE tallies (
    pool TEXT NOT NULL,
    state TEXT NOT NULL,
    processor TEXT NOT NULL,
    profile TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (pool, state, processor, profile)
) WITHOUT ROWID;
CREATE TRIGGER jobs_tally_insert AFTER INSERT ON jobs BEGIN
    INSERT INTO tallies VALUES (NEW.pool, NEW.state, NEW.processor, ifnull(NEW.profile, ''), 1)
    ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER jobs_tally_delete AFTER DELETE ON jobs BEGIN
    UPDATE tallies SET jobs = jobs - 1
    WHERE pool = OLD.pool AND state = OLD.state AND processor = OLD.processor AND profile = ifnull(OLD.profile, '');
END;
CREATE TRIGGER jobs_tally_move AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
    UPDATE tallies SET jobs = jobs - 1
    WHERE pool = OLD.pool AND state = OLD.state AND processor = OLD.processor AND profile = ifnull(OLD.profile, '');
    INSERT INTO tallies VALUES (NEW.pool, NEW.state, NEW.processor, ifnull(NEW.profile, ''), 1)
    ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    pool TEXT NOT NULL,
    hostname TEXT,
    offers TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    session_id TEXT,
    session_host TEXT,
    session_pid INTEGER,
    session_started_at INTEGER,
    session_seen_at INTEGER
) WITHOUT ROWID;

-- the server's pulse: durations count only while it beats
CREATE TABLE pulse (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    beat_at INTEGER NOT NULL
);

CREATE TABLE nonces (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    nonce BLOB NOT NULL UNIQUE
);

CREATE TABLE answers (
    caller TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request BLOB NOT NULL,
    at INTEGER NOT NULL,
    status INTEGER,
    content_type TEXT,
    headers TEXT,
    body BLOB,
    PRIMARY KEY (caller, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX answers_at ON answers (at);

CREATE TABLE credentials (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    worker TEXT NOT NULL,
    label TEXT,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    last_used_at INTEGER,
    revoked_at INTEGER,
    expires_at INTEGER
);
CREATE INDEX credentials_worker ON credentials (worker);

CREATE TABLE users (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role INTEGER NOT NULL,
    password TEXT,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER
);

CREATE TABLE tokens (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_key INTEGER NOT NULL REFERENCES users (key) ON DELETE CASCADE,
    label TEXT,
    digest BLOB NOT NULL UNIQUE,
    role INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER
);
CREATE INDEX tokens_user ON tokens (user_key);

CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_key INTEGER NOT NULL REFERENCES users (key) ON DELETE CASCADE,
    digest BLOB NOT NULL UNIQUE,
    csrf TEXT NOT NULL,
    agent TEXT,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_key);

CREATE TABLE throttles (
    subject TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    blocked_until INTEGER NOT NULL
) WITHOUT ROWID;
