-- configurations by name, and the one that each job was launched with, whatever becomes of the name
CREATE TABLE configs (
    pool TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (pool, name)
);
CREATE TABLE job_configs (
    job_key BIGINT PRIMARY KEY REFERENCES jobs (key) ON DELETE CASCADE,
    content TEXT NOT NULL
);
