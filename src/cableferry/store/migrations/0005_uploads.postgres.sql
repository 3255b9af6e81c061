-- an upload is remembered after its end, for whoever missed the answer
ALTER TABLE uploads ADD COLUMN completed_at BIGINT;
