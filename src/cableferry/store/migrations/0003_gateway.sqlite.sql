-- a user or a worker, never both, with a secret for S3's clients
CREATE TABLE access_keys (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_key INTEGER REFERENCES users (key) ON DELETE CASCADE,
    worker TEXT,
    role INTEGER,
    may_write INTEGER NOT NULL,
    label TEXT,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER,
    CHECK ((user_key IS NULL) <> (worker IS NULL)),
    CHECK ((user_key IS NULL) = (role IS NULL))
);
CREATE INDEX access_keys_user ON access_keys (user_key) WHERE user_key IS NOT NULL;
CREATE INDEX access_keys_worker ON access_keys (worker) WHERE worker IS NOT NULL;

-- what the buckets show, in the order of S3's keys: "run-2/" comes before "run/"
CREATE INDEX artifacts_by_id ON artifacts ((id || '/')) WHERE residence = 'managed';
CREATE INDEX artifacts_by_name ON artifacts ((name || '/'), key)
    WHERE residence = 'managed' AND state = 'committed' AND name NOT LIKE '%/%';
