"""Rows of files on their way, and the pieces of them that are on disk already."""

from cableferry.store.tx import Tx, micros, statement

_BURY_PIECES = statement(
    "upload_pieces_buried",
    """INSERT INTO dead_places (place, at) SELECT p.place, ? FROM upload_pieces p JOIN uploads u ON u.key = p.upload_key
    WHERE u.artifact_key = ? ON CONFLICT DO NOTHING""",
)
_DELETE_OF_ARTIFACT = statement("uploads_of_artifact_deleted", "DELETE FROM uploads WHERE artifact_key = ?")


def bury_of_artifact(tx: Tx, artifact_key: int) -> None:
    """Forget every upload into an artifact; the bytes that came are to be removed."""
    tx.run(_BURY_PIECES, (micros(tx.now), artifact_key))
    tx.run(_DELETE_OF_ARTIFACT, (artifact_key,))
