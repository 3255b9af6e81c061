"""Brings what a job wrote away from its output folder, as artifacts.

    with Tree(output_dir) as tree:
        found = tree.walk()
        results, logs = walking.divided(found.files)
        what = What(job.id, job.attempt, "output", worker_id, metadata={"processor": ..., "profile": ...})
        outcome = outputs.collect(desk, what, tree, results, Memory(journal_id, note_id))

`outcome` is `Stored` (the artifact's id, None when there was nothing to store), `Failed` or `Cancelled`; the last two
are those of staging. The same call again goes on where it was: `known` is the artifact that an earlier call `created`,
and where a server can be asked it is found without that too, so no second one appears. `found.skipped` says what was
left out and why. Logs go the same way with the role "log".
"""
