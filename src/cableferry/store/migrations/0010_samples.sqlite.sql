-- how many jobs were in each state, once a minute, so that a chart needs no look at every job's history
CREATE TABLE samples (
    pool TEXT NOT NULL,
    at BIGINT NOT NULL,
    state TEXT NOT NULL,
    jobs BIGINT NOT NULL,
    PRIMARY KEY (pool, at, state)
) WITHOUT ROWID;
