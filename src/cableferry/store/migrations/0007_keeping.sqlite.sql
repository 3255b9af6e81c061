-- when the last job that used an artifact was deleted: what no job uses is kept for a while after that
ALTER TABLE artifacts ADD COLUMN last_used_at INTEGER;
CREATE INDEX artifacts_registered ON artifacts (touched_at) WHERE state = 'registered';

-- bytes that were not found as they were; the next upload of the same bytes takes their place
ALTER TABLE blobs ADD COLUMN damaged_at INTEGER;

CREATE INDEX dead_places_at ON dead_places (at);
