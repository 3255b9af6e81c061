"""What goes wrong with a database without any caller being to blame.

StoreFailure
├── BadUrl          the setting names no database that this program can open
├── WrongSchema     the database and the program do not fit together
├── Unavailable     the database did nothing; the same request may be sent again
├── Unknown         the connection broke during a commit: it may or may not have happened
└── BackupFailed    there is no backup, and nothing was left behind
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
