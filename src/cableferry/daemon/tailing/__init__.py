"""Sends what running jobs write to the server, while they write it.

    masks = redacting.compiled(config.redact)              # once; BadPattern names one that cannot be read
    source = Source(job.id, epoch, Tail("stdout", path))   # one for each file, kept in the journal
    sources = sending.send(client.logs, worker_id, due, masks)

`send` reads each file from where it was, sends one batch, and gives the sources as they stand now: the caller keeps
those in its journal, and hands them in again the next time. A source that is done needs no more turns. Trouble with the
server is raised with nothing changed; a batch that was taken though its answer was lost is sent again and changes
nothing. `sending.pause_seconds(is_watched)` says how long to leave a job alone. Once a job has ended its sources get a
last turn with `is_over`, before its last report: what was held back as half a line goes then.
"""
