"""Brings the inputs of a job to where its command looks for them.

    desk = Desk(client.artifacts, Verified(folder / "verified.db"), is_cancelled=stop.is_set)
    outcome = inputs.stage(desk, Site(roots=(Path("/nfs"),)), Order(job.inputs, input_dir, scratch_dir))

`outcome` is `Staged` (which folders, and which places a container must see), `Failed` (the detail for the report, its
cause, and whether trying again later may help) or `Cancelled`. Nothing is raised but a bug. Calling it again for the
same folders goes on where it was, however it ended before; `scratch_dir` must be on the same file system.

    input_dir/<artifact id>/<path>     files of a managed, s3 or http artifact
    input_dir/<artifact id>            of a posix artifact, a link to where it lies
    input_dir/<artifact id>.json       of a reference, what is known of it
    input_dir/<name>                   where the inputs are named, a link to the artifact
"""
