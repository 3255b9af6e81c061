"""What each kind of refusal means to whoever meets it: the one place where these sentences are written."""

from typing import NamedTuple

from cableferry.core.errors import Kind


class Told(NamedTuple):
    """The statuses a kind travels with, when it is met, and what helps."""

    statuses: tuple[int, ...]
    when: str
    remedy: str


TOLD: dict[Kind, Told] = {
    Kind.TOO_COSTLY: Told(
        (400,),
        "A question in GraphQL asks for too many values, goes too deep, or its answer would be too large or too slow.",
        "Lower a `limit`, ask for fewer fields, or ask in several questions.",
    ),
    Kind.UNKNOWN_JOB: Told((404,), "No job has this id.", "Check the id; a worker forgets the job."),
    Kind.DELETED_JOB: Told(
        (404,), "The job was there and somebody deleted it.", "A worker stops what it runs of it and forgets the job."
    ),
    Kind.DRAINED: Told(
        (200, 409),
        "Somebody lets the worker take no more jobs; 200 in the answer to a daemon's cycle.",
        "Go on with the jobs that it holds; `cableferry workers resume` lets it take jobs again.",
    ),
    Kind.UNKNOWN_WORKER: Told(
        (404, 409),
        "The worker is not registered; 409 when it tries to claim.",
        "Register the worker, then repeat the request.",
    ),
    Kind.UNKNOWN_CREDENTIAL: Told(
        (404,), "The worker has no credential with this id.", "List the worker's credentials to see their ids."
    ),
    Kind.UNKNOWN_USER: Told((404,), "There is no account of this name.", "List the users, or create this one."),
    Kind.UNKNOWN_TOKEN: Told(
        (404,), "There is no such API token, or it is another user's.", "List your tokens to see their ids."
    ),
    Kind.UNKNOWN_ACCESS_KEY: Told(
        (404,), "There is no such access key, or it is not yours to see.", "List your access keys to see their ids."
    ),
    Kind.UNKNOWN_SESSION: Told(
        (404,), "There is no such browser session, or it has ended.", "List your sessions to see their ids."
    ),
    Kind.UNKNOWN_HOST: Told(
        (400, 403),
        "The worker is not among those that may run jobs; 403 when it speaks for itself.",
        "Take one of the workers that the answer names, or add it to `opeva.available_hosts`.",
    ),
    Kind.UNKNOWN_CONFIG: Told(
        (404,), "No configuration has this name, in the shared folder or in the database.", "List the configurations."
    ),
    Kind.UNKNOWN_ROUTE: Told((404,), "Nothing is served at this path.", "Compare the path with docs/endpoints.md."),
    Kind.WRONG_METHOD: Told(
        (405,), "The path is served, but not with this method.", "Use one of those in the `Allow` header."
    ),
    Kind.UNKNOWN_ARTIFACT: Told((404,), "No artifact has this id.", "Check the id, or list the artifacts."),
    Kind.UNKNOWN_FILE: Told((404,), "The artifact has no file of this path.", "List the artifact's files."),
    Kind.NO_CONTENT: Told(
        (404,),
        "The file was declared, but its bytes were never sent.",
        "Upload the file, or look where it was declared.",
    ),
    Kind.UNKNOWN_UPLOAD: Told(
        (404,),
        "There is no such upload: it was given up, it expired, or its artifact is committed, failed or gone.",
        "Begin a new upload, into a new artifact if the old one is over.",
    ),
    Kind.UNKNOWN_PART: Told(
        (400,), "A part that the file is to be made of never came.", "Send the part, then complete the upload."
    ),
    Kind.MISMATCHING_OFFSET: Told(
        (409,),
        "Bytes begin elsewhere than where those that are here end; `expected-offset` says where that is.",
        "Ask the upload for its offset and go on there.",
    ),
    Kind.INCONSISTENT_LENGTH: Told(
        (400,),
        "An upload gets another length than it said before, or more or fewer bytes than that.",
        "Send what was said, or begin a new upload.",
    ),
    Kind.COMPLETED_UPLOAD: Told(
        (400,), "The upload is complete, and its file is in the artifact.", "There is nothing left to send."
    ),
    Kind.UPLOAD_BUSY: Told(
        (423,),
        "Another request is bringing bytes to this upload right now.",
        "Wait for it, then ask for the offset and go on there.",
    ),
    Kind.UNSUPPORTED_TYPE: Told(
        (415,), "A part of an upload has another `Content-Type` than its protocol says.", "Send the type that is named."
    ),
    Kind.TOO_MANY_PARTS: Told(
        (400, 409), "An upload comes in so many parts that it takes no more.", "Begin it again with larger parts."
    ),
    Kind.COMMITTED: Told(
        (409,), "The artifact is committed and never changes any more.", "Create a new artifact for new content."
    ),
    Kind.ARTIFACT_FAILED: Told(
        (409,),
        "The artifact has failed: nothing came for too long, or its content was not what it said.",
        "Create a new artifact; `detail` of the old one says why.",
    ),
    Kind.NOT_MANAGED: Told(
        (409,),
        "The bytes of this artifact live elsewhere, so none can be uploaded.",
        "Send the file's metadata as JSON, or create a managed artifact.",
    ),
    Kind.DAMAGED: Told(
        (500,),
        "A download asked for verification, and the stored bytes are not what they were.",
        "Do not use the file; an operator runs `cableferry artifacts verify` and uploads the same bytes again.",
    ),
    Kind.NOT_DIRECT: Told(
        (409,),
        "Bytes are to go past the server, and its store or `artifacts.direct_seconds` has no address for that.",
        "Upload to the file's own address, or download from there.",
    ),
    Kind.HASH_MISMATCH: Told(
        (409,),
        "A commit declares another hash or size than the files have; its title is `Hash Mismatch`.",
        "Compare with the hashes in the list of files, upload what is wrong or missing, and commit again.",
    ),
    Kind.BAD_INPUT: Told(
        (409,),
        "A job names an artifact as its input, output or log that is not there, or an input that is not committed.",
        "Create and commit the artifact first.",
    ),
    Kind.BAD_PATH: Told(
        (400,),
        "A file's path is empty, too long, or holds what is not one thing to every client.",
        "Use segments divided by /, none of them empty, . or .., without control characters.",
    ),
    Kind.BAD_LOCATION: Told(
        (400,),
        "The `content_url` does not fit the residence, or lies outside what the server allows.",
        "Use file:///, s3:// or https:// as the residence says, under one of the roots that the sentence names.",
    ),
    Kind.TOO_MANY_FILES: Told(
        (409,), "The artifact holds as many files as one may.", "Pack them into archives, or use several artifacts."
    ),
    Kind.IN_USE: Told(
        (409,), "A job that is not over takes the artifact as its input.", "Cancel the job, or wait for its end."
    ),
    Kind.ALREADY_CLAIMED: Told(
        (409,), "Another worker holds the job; `holder` names it.", "Take the next job: losing a race is no failure."
    ),
    Kind.NOT_OFFERED: Told(
        (409,),
        "The worker did not register a capability for the job's processor and profile.",
        "Register the capability, or leave the job to another worker.",
    ),
    Kind.NO_ROOM: Told(
        (409,),
        "The worker holds as many jobs as the capability's `max_concurrent_jobs` allows.",
        "Finish a job first, or register a higher limit.",
    ),
    Kind.ILLEGAL_MOVE: Told(
        (409,),
        "The job cannot go from where it is to the status asked for.",
        "Look where the job is (`current_state`) and report what follows from there; docs/states.md shows the moves.",
    ),
    Kind.STALE_LEASE: Told(
        (409,),
        "The reporter does not hold the job any more: another worker does, or it is a later attempt.",
        "Stop working on the job and drop its results; `holder` and `epoch` say who has it now.",
    ),
    Kind.ALREADY_ENDED: Told(
        (409,),
        "The job is over, and the request says something else than how it ended.",
        "Take the end as it is; to run it again, create a new job.",
    ),
    Kind.NOT_ENDED: Told(
        (409,), "The job has not ended, and this contract deletes only what has.", "Cancel the job, then delete it."
    ),
    Kind.UNKNOWN_LOG: Told(
        (404,),
        "The job has written no such log so far, or it is not kept as a log any more.",
        "List the job's logs; of a job that is over, read the artifact that `log_artifact_id` names.",
    ),
    Kind.LOG_GAP: Told(
        (409,),
        "A chunk begins behind the end of its log; `offset` is where the log ends.",
        "Send the bytes from `offset` on.",
    ),
    Kind.LOG_DIFFERS: Told(
        (409,),
        "A chunk holds other bytes than the log has at that place; `offset` is where the log ends.",
        "Keep what is there, and send what follows from `offset` on.",
    ),
    Kind.LOG_CLOSED: Told(
        (409,),
        "The job is over and its logs have been put away.",
        "Bring what is missing as an artifact of type log, or let it be.",
    ),
    Kind.TOO_MANY_LOGS: Told(
        (409,), "An attempt of a job has as many logs as one may.", "Write to one of those that there are."
    ),
    Kind.SESSION_CONFLICT: Told(
        (409,),
        "Another daemon runs under this worker id and is alive; `holder` names its host.",
        "Stop one of the two, give it a worker id of its own, or wait until `takeover_at`.",
    ),
    Kind.SESSION_REVOKED: Told(
        (409,),
        "Another daemon has taken this worker id over while this one was silent.",
        "Stop claiming and submitting; reports about jobs still held are taken.",
    ),
    Kind.CHANGED_MEANWHILE: Told(
        (409,),
        "Somebody else changed the job between the look and the write.",
        "Look at the job again, then repeat what still makes sense.",
    ),
    Kind.NAME_TAKEN: Told(
        (409,), "There is an account of this name already, or a worker of another contract.", "Choose another name."
    ),
    Kind.CREDENTIAL_EXISTS: Told(
        (409,),
        "The worker has an active credential.",
        "Rotate it to get a new secret, or revoke it and issue another one.",
    ),
    Kind.LAST_OWNER: Told(
        (409,), "The request would leave nobody with the Owner role.", "Give another user that role first."
    ),
    Kind.MALFORMED: Told(
        (400,),
        "The path, the query or the body is not what the endpoint takes; the detail names the place.",
        "Mend the request; sent again as it is, it will be refused again.",
    ),
    Kind.MISSING_HEADER: Told(
        (400, 412), "A header that the protocol demands is not there; `header` names it.", "Send it with every request."
    ),
    Kind.BAD_HEADER: Told(
        (400,), "A header is there, but not in the shape it must have.", "Mend it as the detail says."
    ),
    Kind.UNSUPPORTED_VERSION: Told(
        (400, 412),
        "`X-EMX2-API-Version` asks for a version not served here; 412 when `Tus-Resumable` does.",
        "Send the version that the detail names.",
    ),
    Kind.WORKER_MISMATCH: Told(
        (400,),
        "`X-Worker-Id`, the path and the body do not name the same worker.",
        "Send one worker id in all three places, or leave out those that are optional.",
    ),
    Kind.KEY_REUSED: Told(
        (422,),
        "The `Idempotency-Key` came with another request before.",
        "Use a new key for each new request, the same key only to repeat one.",
    ),
    Kind.TOO_LARGE: Told(
        (413,),
        "The body or the headers are larger than the server reads.",
        "Send less, or raise `server.body_limit_bytes`, `server.header_limit_bytes` or `artifacts.upload_limit_bytes`.",
    ),
    Kind.INCOMPLETE: Told(
        (400,), "A body has fewer or more bytes than was said before it.", "Send it again, as long as it says."
    ),
    Kind.BAD_DIGEST: Told(
        (400, 460), "A body has another checksum than its sender told.", "Send it again: it was changed on the way."
    ),
    Kind.TOO_SLOW: Told(
        (408,),
        "The head of the request did not come in time, or its body came too slowly.",
        "Send it again, over a better line, or raise `server.patience_seconds`.",
    ),
    Kind.STORAGE_FULL: Told(
        (507,),
        "The disk or bucket behind the server has no room for these bytes; nothing of them was kept.",
        "Send it again when there is room; an upload that can be continued goes on where it was.",
    ),
    Kind.RANGE_NOT_SATISFIABLE: Told(
        (416,), "None of the bytes that `Range` asks for is in the file.", "Look at `Content-Range` for its size."
    ),
    Kind.PRECONDITION_FAILED: Told(
        (412,),
        "The file is not the version that `If-Match` or `If-Unmodified-Since` names.",
        "Look at the file again, then decide.",
    ),
    Kind.UNAUTHENTICATED: Told(
        (401,),
        "Nothing in the request proves who sends it, or the proof is incomplete.",
        "Sign the request, or send a token; docs/security.md tells how.",
    ),
    Kind.BAD_SIGNATURE: Told(
        (401, 403),
        "The signature was not made with a secret of this worker over this very request; 403 at the S3 gateway.",
        "Check the secret, and that method, target, body, timestamp and nonce are signed exactly as they are sent.",
    ),
    Kind.BAD_AUTHORIZATION: Told(
        (400,),
        "What a request to the S3 gateway says of its signature cannot be read, or is meant for another service.",
        "Let an S3 client sign the request; the sentence says what is wrong.",
    ),
    Kind.EXPIRED: Told((403,), "A presigned URL has ended.", "Sign a new one."),
    Kind.CLOCK_SKEW: Told(
        (401, 403),
        "The request's timestamp is more than five minutes away from the server's clock; 403 and 15 minutes for S3.",
        "Set the clock; until then add `skew_seconds` to your own time and sign again.",
    ),
    Kind.REPLAYED: Told(
        (401,),
        "This nonce was used before: the request is a copy, or its sender repeats itself.",
        "Take a new nonce for every request, also for a repeated one.",
    ),
    Kind.BAD_CSRF: Told(
        (403,),
        "A request with a session cookie that changes something lacks the session's CSRF token.",
        "Send the token that `/api/ui/me` tells in `X-CSRF-Token`.",
    ),
    Kind.TOO_MANY: Told(
        (429,),
        "The caller asked more than it may, or failed to sign in too often.",
        "Wait as many seconds as `Retry-After` says.",
    ),
    Kind.NOT_ALLOWED: Told(
        (403,), "The caller's kind or role does not reach what the request asks.", "Ask somebody with that role."
    ),
    Kind.NOT_YOURS: Told(
        (403,),
        "The job, the worker id or the credential is somebody else's.",
        "Act as its holder or creator, or ask a Manager.",
    ),
    Kind.UNAVAILABLE: Told(
        (503,), "The database does not answer; the detail says whether anything was written.", "Try again in a while."
    ),
    Kind.BUG: Told(
        (500,),
        "The server failed; nothing of the request was kept.",
        "Look for the trace id in the server's log, and report it.",
    ),
}
