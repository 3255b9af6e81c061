"""The types and formats of artifacts that everybody knows, and the media type of a file by its name."""

from collections.abc import Mapping

UNKNOWN = "application/octet-stream"

# others are taken too: these are the ones a form can offer
TYPES: Mapping[str, str] = {
    "tabular": "Structured rows and columns",
    "model": "Trained model weights or pipelines",
    "dataset": "Scientific data of several files",
    "log": "Logs of an execution",
    "report": "Output for people",
    "container": "An Apptainer or OCI image",
    "blob": "Bytes of any kind",
}
FORMATS: Mapping[str, str] = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/jsonlines",
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "pdf": "application/pdf",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "yaml": "application/yaml",
    "xml": "application/xml",
    "gguf": UNKNOWN,
    "onnx": "application/onnx",
    "safetensors": UNKNOWN,
    "vcf": "text/x-vcf",
    "fasta": "text/x-fasta",
    "hdf5": "application/x-hdf5",
    "zarr": "application/vnd.zarr",
    "sif": "application/vnd.sylabs.sif",
    "oci": "application/vnd.oci.image.layer.v1.tar",
    "zip": "application/zip",
    "gzip": "application/gzip",
    "zstd": "application/zstd",
    "tar": "application/x-tar",
    "mixed": UNKNOWN,
    "binary": UNKNOWN,
}
_SUFFIXES = {
    "txt": "text", "log": "text", "out": "text", "err": "text", "md": "markdown", "htm": "html", "jpg": "jpeg",
    "ndjson": "jsonl", "yml": "yaml", "fa": "fasta", "fna": "fasta", "h5": "hdf5", "gz": "gzip", "tgz": "gzip",
    "zst": "zstd", "pq": "parquet", "bin": "binary",
}  # fmt: skip


def of_path(path: str) -> str | None:
    """The media type that a file's name stands for, None for a name that says nothing."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    if not stem or not dot:
        return None
    return FORMATS.get(_SUFFIXES.get(suffix.lower(), suffix.lower()))


def of_file(path: str, declared: str | None) -> str:
    """The media type of a file: its name says it, else whoever sent it, else nobody."""
    return of_path(path) or declared or UNKNOWN
