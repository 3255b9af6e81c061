CREATE TABLE artifacts (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    type TEXT NOT NULL,
    format TEXT,
    residence TEXT NOT NULL,
    name TEXT,
    metadata TEXT NOT NULL,
    content_url TEXT,
    job_id TEXT,
    sha256 TEXT,
    declared_sha256 TEXT,
    size_bytes INTEGER,
    table_schema TEXT,
    schema_error TEXT,
    detail TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    committed_at INTEGER
);
CREATE INDEX artifacts_name ON artifacts (name, key) WHERE name IS NOT NULL;
CREATE INDEX artifacts_job ON artifacts (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX artifacts_open ON artifacts (touched_at) WHERE state = 'created' OR state = 'uploading';

-- bytes, known by their hash; a blob lies in one place or in several, one behind the other
CREATE TABLE blobs (
    key INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE TABLE blob_pieces (
    blob_key INTEGER NOT NULL REFERENCES blobs (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    place TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (blob_key, seq)
) WITHOUT ROWID;

-- without a blob, a file is only declared: its bytes lie elsewhere
CREATE TABLE files (
    key INTEGER PRIMARY KEY,
    artifact_key INTEGER NOT NULL REFERENCES artifacts (key) ON DELETE CASCADE,
    path TEXT NOT NULL,
    id TEXT NOT NULL,
    role TEXT,
    sha256 TEXT,
    size_bytes INTEGER,
    content_type TEXT,
    blob_key INTEGER REFERENCES blobs (key),
    seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (artifact_key, path)
);
CREATE INDEX files_blob ON files (blob_key) WHERE blob_key IS NOT NULL;

-- files on their way that may be continued; pieces are durable before the offset says so
CREATE TABLE uploads (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    artifact_key INTEGER NOT NULL REFERENCES artifacts (key) ON DELETE CASCADE,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    role TEXT,
    content_type TEXT,
    length INTEGER,
    received INTEGER NOT NULL,
    sha256 TEXT,
    metadata TEXT,
    revision INTEGER NOT NULL,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    expires_at INTEGER
);
CREATE INDEX uploads_artifact ON uploads (artifact_key, path);
CREATE INDEX uploads_expire ON uploads (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE upload_pieces (
    upload_key INTEGER NOT NULL REFERENCES uploads (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    place TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (upload_key, number)
) WITHOUT ROWID;

-- places that no row refers to any more: forgotten first, then removed from the store of bytes
CREATE TABLE dead_places (
    place TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;

-- which jobs an artifact is the input, the output or the log of
CREATE TABLE artifact_uses (
    artifact_key INTEGER NOT NULL REFERENCES artifacts (key) ON DELETE CASCADE,
    job_key INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    used_as TEXT NOT NULL,
    PRIMARY KEY (artifact_key, job_key, used_as)
) WITHOUT ROWID;
CREATE INDEX artifact_uses_job ON artifact_uses (job_key);
