"""What goes wrong with a database or a store of bytes without any caller being to blame.

StoreFailure
├── BadUrl          the setting names no database that this program can open
├── WrongSchema     the database and the program do not fit together
├── Unavailable     the database did nothing; the same request may be sent again
├── Unknown         the connection broke during a commit: it may or may not have happened
├── BackupFailed    there is no backup, and nothing was left behind
└── BlobFailure     the same about the bytes of artifacts
    ├── BlobMissing      the place is not there, or shorter than it was
    ├── BlobsFull        there is no room; nothing was kept and nothing damaged
    └── BlobsUnavailable the store of bytes does not answer or refuses us
"""


class StoreFailure(Exception):
    """A sentence for the operator; the message never holds a password."""


class BadUrl(StoreFailure):
    pass


class WrongSchema(StoreFailure):
    pass


class Unavailable(StoreFailure):
    pass


class Unknown(StoreFailure):
    pass


class BackupFailed(StoreFailure):
    pass


class BlobFailure(StoreFailure):
    pass


class BlobMissing(BlobFailure):
    pass


class BlobsFull(BlobFailure):
    pass


class BlobsUnavailable(BlobFailure):
    pass
