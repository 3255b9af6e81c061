-- what S3's clients know a file by when it came through them, and the headers that they want back with it
ALTER TABLE files ADD COLUMN etag TEXT;
ALTER TABLE files ADD COLUMN headers TEXT;

-- the MD5 of a part, by which its sender knows it
ALTER TABLE upload_pieces ADD COLUMN md5 TEXT;
