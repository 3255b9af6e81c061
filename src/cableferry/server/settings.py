"""Every setting of the server with its type, default and meaning."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from cableferry.core.policy import Stalled

Port = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=1, le=2**31)]
Bytes = Annotated[int, Meta(ge=1, le=2**50)]
Seconds = Annotated[float, Meta(gt=0, le=10**9)]
Span = Annotated[float, Meta(ge=0, le=36500)]


class Secret:
    """A value that is never shown; `reveal` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


def _doc(text: str) -> Meta:
    return Meta(description=text)


class ServerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the server listens and how much it reads."""

    host: Annotated[str, _doc("Address to listen on; anything but loopback needs authentication.")] = "127.0.0.1"
    port: Annotated[Port, _doc("Port to listen on; 0 takes a free one and prints it.")] = 8710
    root_path: Annotated[str, _doc("Path that a proxy strips before it passes a request on.")] = ""
    reuse_port: Annotated[
        bool, _doc("Share the port with other server processes on this machine (PostgreSQL only).")
    ] = False
    tls_certificate: Annotated[Path | None, _doc("PEM file with the certificate chain; turns TLS on.")] = None
    tls_key: Annotated[Path | None, _doc("PEM file with the certificate's private key.")] = None
    tls_client_ca: Annotated[
        Path | None, _doc("PEM file with the authorities of client certificates (mutual TLS).")
    ] = None
    body_limit_bytes: Annotated[Count, _doc("Largest request body; a larger one is refused with 413.")] = (
        10 * 1024 * 1024
    )
    header_limit_bytes: Annotated[Count, _doc("Largest sum of all request headers.")] = 64 * 1024
    patience_seconds: Annotated[
        Seconds, _doc("How long the head of a request may take to come, and each kibibyte of its body.")
    ] = 30
    trusted_proxies: Annotated[
        list[str], _doc("Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.")
    ] = []
    shutdown_seconds: Annotated[Count, _doc("How long open requests may take to finish after SIGTERM.")] = 10


class DatabaseSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where everything is kept."""

    url: Annotated[
        str | None,
        _doc("`sqlite:///path` or `postgresql://…`; by default `cableferry.db` in the data directory."),
    ] = None
    data_dir: Annotated[Path, _doc("Directory of the SQLite file and of generated keys, made with mode 0700.")] = Path(
        "cableferry-data"
    )
    pool_size: Annotated[Count, _doc("PostgreSQL connections of one server process.")] = 8


class S3Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service that speaks S3, and the keys to it."""

    endpoint: Annotated[str | None, _doc("Address of the service; by default that of AWS in the region.")] = None
    region: Annotated[str, _doc("Region that requests are signed for.")] = "us-east-1"
    access_key_id: Annotated[
        str | None, _doc("Name of the key; without one the machine's own role or `AWS_*` variables count.")
    ] = None
    secret_access_key: Annotated[Secret | None, _doc("The key.")] = None
    secret_access_key_file: Annotated[Path | None, _doc("File that holds the key.")] = None
    unsigned: Annotated[bool, _doc("Ask without any key, as a public bucket is read.")] = False


class AzureSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An account of Azure's storage."""

    account_name: Annotated[str | None, _doc("Name of the storage account.")] = None
    account_key: Annotated[Secret | None, _doc("Its key.")] = None
    account_key_file: Annotated[Path | None, _doc("File that holds its key.")] = None


class RetentionSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long artifacts and their bytes are kept."""

    days: Annotated[
        dict[str, Span],
        _doc('Days that artifacts of a type are kept from their commit on, such as `{log = 30, "*" = 365}`.'),
    ] = {}
    unused_days: Annotated[
        Span | None,
        _doc("Days that an artifact is kept which no job uses, from its commit or the deletion of the last such job."),
    ] = None
    failed_days: Annotated[Span | None, _doc("Days that a failed artifact is kept.")] = 7
    results: Annotated[
        Literal["kept", "freed"],
        _doc("Whether the outputs and logs of a job are kept as long as the job is, or go when their time is over."),
    ] = "kept"
    stalled_hours: Annotated[
        Span, _doc("Hours without a byte after which an artifact fails that was never committed.")
    ] = 24
    grace_minutes: Annotated[
        Span, _doc("Minutes that bytes stay after nothing refers to them, for downloads that have begun.")
    ] = 60
    orphan_hours: Annotated[
        Span,
        _doc(
            "Hours after which bytes are removed that no artifact knows, as a killed server leaves them;"
            " longer than any upload rests."
        ),
    ] = 24
    collect_minutes: Annotated[Seconds, _doc("How often the server collects what is to go.")] = 60


class ArtifactsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of artifacts."""

    upload_limit_bytes: Annotated[Bytes, _doc("Largest file that one request may bring.")] = 500 * 1024 * 1024
    resumable_limit_bytes: Annotated[Bytes, _doc("Largest file that comes as an upload that may be continued.")] = (
        5 * 1024**4
    )
    upload_lifetime_seconds: Annotated[
        Seconds, _doc("How long such an upload waits for its next byte before it is given up.")
    ] = 7 * 86400
    direct_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=7 * 86400)],
        _doc(
            "How long addresses count at which clients reach object storage itself, past this server; 0 gives none out."
        ),
    ] = 0
    upload_part_bytes: Annotated[
        Annotated[int, Meta(ge=1024 * 1024, le=2**40)],
        _doc("How much of it comes before what came is kept, whatever becomes of the server."),
    ] = 64 * 1024 * 1024
    store: Annotated[
        str | None,
        _doc(
            "Where bytes are kept: a folder, or `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`;"
            " by default `blobs` in the data directory."
        ),
    ] = None
    part_bytes: Annotated[
        Annotated[int, Meta(ge=5 * 1024 * 1024, le=2**31)],
        _doc("Part in which bytes go to object storage, which takes 10,000 for one file; each stream holds three."),
    ] = 16 * 1024 * 1024
    s3: Annotated[S3Section, _doc("The service behind `s3://`.")] = S3Section()
    azure: Annotated[AzureSection, _doc("The account behind `az://`.")] = AzureSection()
    google_key_file: Annotated[
        Path | None, _doc("JSON file of the service account behind `gs://`; by default the machine's own.")
    ] = None
    posix_roots: Annotated[
        list[Path],
        _doc(
            "Folders under which posix artifacts lie; one that this machine sees is looked into at commit."
            " Without any, every path may be named and none is opened."
        ),
    ] = []
    buckets: Annotated[
        dict[str, S3Section], _doc("Buckets of s3 artifacts that are looked into at commit, each with its keys.")
    ] = {}
    hash_limit_bytes: Annotated[
        Bytes, _doc("Largest file elsewhere that is read and hashed at commit; of a larger one the size is compared.")
    ] = 4 * 1024**3
    schema_limit_bytes: Annotated[
        Bytes,
        _doc("Largest CSV file that is read for its schema at commit; of Parquet, the footer is enough."),
    ] = 256 * 1024 * 1024
    retention: Annotated[RetentionSection, _doc("How long they are kept.")] = RetentionSection()
    web_hosts: Annotated[
        list[str], _doc("Hosts (`name` or `name:port`) of http artifacts that are asked at commit; no other ever is.")
    ] = []


class LogSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said on standard output."""

    format: Annotated[Literal["json", "console"], _doc("One JSON object per line, or lines for people.")] = "json"
    level: Annotated[Literal["debug", "info", "warning", "error"], _doc("Least level that is written.")] = "info"


class MetricsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The Prometheus page at `/metrics`."""

    enabled: Annotated[bool, _doc("Whether `/metrics` is served.")] = True
    public: Annotated[bool, _doc("Whether `/metrics` answers callers that do not come from loopback.")] = False


class Emx2Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The EMX2 HPC protocol."""

    contract: Annotated[
        Literal["seed", "latest"],
        _doc("Which edition of the protocol rules where they contradict each other."),
    ] = "seed"
    pool: Annotated[str, _doc("Pool whose jobs this protocol creates and hands out.")] = "emx2"
    delete_nonterminal: Annotated[
        Literal["cancel", "reject"] | None,
        _doc("What DELETE does with a job that has not ended; by default `cancel` in seed, `reject` in latest."),
    ] = None
    long_poll_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=55)], _doc("Longest wait of a long poll; 0 turns long polls off.")
    ] = 55


class OpevaSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The worker contract, whose workers share a folder with the server."""

    enabled: Annotated[
        bool | None, _doc("Whether the contract is served; by default it is where `shared_data` is set.")
    ] = None
    shared_data: Annotated[
        Path | None, _doc("Root of the shared folder (also `VM_SHARED_DATA`); by default `/opt/opeva_shared_data`.")
    ] = None
    folder_mode: Annotated[
        Annotated[str, Meta(pattern="^0?[0-7]{3,4}$")],
        _doc("Mode of folders made in it, in octal; workers write there under accounts of their own."),
    ] = "0777"
    available_hosts: Annotated[
        list[str],
        _doc("Workers that may run jobs (also `AVAILABLE_HOSTS`); by default every one that was heard of."),
    ] = []
    image: Annotated[str, _doc("Image that workers run.")] = "calof/opeva_simulator:latest"
    env: Annotated[dict[str, str], _doc("Variables that every container gets.")] = {}
    queue_claim_ttl: Annotated[
        Seconds, _doc("Time for a worker's first word of a job it got (also `QUEUE_CLAIM_TTL`).")
    ] = 300
    host_heartbeat_ttl: Annotated[
        Seconds, _doc("Silence after which a worker is shown as offline (also `HOST_HEARTBEAT_TTL`).")
    ] = 60
    worker_stale_grace_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=10**9)],
        _doc("How much longer until its jobs are given up (also `WORKER_STALE_GRACE_SECONDS`)."),
    ] = 120
    job_status_ttl: Annotated[
        Seconds, _doc("Silence about a job after which it is given up (also `JOB_STATUS_TTL`).")
    ] = 300
    preferred_grace_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=10**9)], _doc("How long a job is kept for a worker that it only prefers.")
    ] = 0
    strict_transitions: Annotated[
        bool, _doc("Refuse results of jobs that were to stop or were never reported as running.")
    ] = False
    allow_anonymous_workers: Annotated[
        list[str], _doc("Networks (`10.1.0.0/16`) whose workers need no credentials, to read and to report.")
    ] = []
    config_limit_bytes: Annotated[Count, _doc("Largest configuration of an experiment.")] = 1024 * 1024

    @property
    def root(self) -> Path:
        return self.shared_data or Path("/opt/opeva_shared_data")


class LimitsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a job may be silent; without a value the next wider rule holds."""

    claimed_seconds: Annotated[Seconds | None, _doc("Longest time from claim to submission.")] = None
    submitted_seconds: Annotated[Seconds | None, _doc("Longest silence while queued at the site.")] = None
    started_seconds: Annotated[Seconds | None, _doc("Longest silence while running.")] = None
    after_claimed: Annotated[
        Stalled | None, _doc("What becomes of a claimed job not submitted in time: fail, cancel or pending.")
    ] = None


class TimeoutsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the server gives up on a silent job; a job's own `timeout_seconds` comes first."""

    claimed_seconds: Annotated[Seconds | None, _doc("Longest time from claim to submission.")] = 900
    submitted_seconds: Annotated[Seconds | None, _doc("Longest silence while queued at the site.")] = None
    started_seconds: Annotated[Seconds | None, _doc("Longest silence while running.")] = None
    after_claimed: Annotated[
        Stalled, _doc("What becomes of a claimed job not submitted in time: fail, cancel or pending.")
    ] = Stalled.FAIL
    most_attempts: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        _doc("Attempts of a job after which one that is not submitted fails instead of going back to the queue."),
    ] = 5
    grace_seconds: Annotated[
        Seconds,
        _doc("Most that the server waits beyond a job's own timeout so that its daemon reports first."),
    ] = 60
    sweep_seconds: Annotated[Seconds, _doc("How often the server looks for overdue jobs.")] = 5
    processors: Annotated[dict[str, LimitsSection], _doc("The same limits for one processor.")] = {}
    profiles: Annotated[dict[str, LimitsSection], _doc("The same limits for one profile.")] = {}


class WorkersSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a worker counts as gone."""

    session_ttl_seconds: Annotated[
        Seconds, _doc("Silence after which another daemon may take a worker's session over.")
    ] = 90
    silence_seconds: Annotated[Seconds, _doc("Silence after which a worker is shown as gone.")] = 300


class LogsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What running jobs write, as their daemons send it."""

    limit_bytes: Annotated[
        Bytes, _doc("How much of one job's logs is kept; what comes after that is dropped, and the log says so.")
    ] = 64 * 1024 * 1024
    settle_seconds: Annotated[
        Seconds, _doc("How long after a job's end its logs become its log artifact, unless its daemon brings one.")
    ] = 15
    keep_hours: Annotated[Seconds, _doc("How long after that they can still be read as logs; the artifact stays.")] = (
        168
    )


class JwtSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """JSON Web Tokens of workers."""

    keys_file: Annotated[Path | None, _doc("JWKS or PEM file with the keys that sign tokens; turns JWT on.")] = None
    algorithms: Annotated[
        list[Literal["EdDSA", "RS256", "HS256"]],
        _doc("Algorithms that are accepted; each fits one key type."),
    ] = field(default_factory=lambda: ["EdDSA", "RS256"])
    issuer: Annotated[str | None, _doc("Required `iss`, when set.")] = None
    audience: Annotated[str | None, _doc("Required `aud`, when set.")] = None
    subject_claim: Annotated[str, _doc("Claim that names the worker.")] = "sub"
    longest_life_seconds: Annotated[Seconds, _doc("Longest time from `iat` to `exp`.")] = 3600
    spend_ids: Annotated[bool, _doc("Whether a token counts once, by its `jti`.")] = False


class MtlsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Client certificates of workers."""

    workers: Annotated[
        dict[str, str], _doc("Certificate subject or alternative name, and the worker it stands for.")
    ] = {}
    proxy_header: Annotated[str | None, _doc("Header in which a proxy passes the verified client certificate on.")] = (
        None
    )
    proxy_addresses: Annotated[
        list[str], _doc("Addresses from which that header is believed; from others it is refused.")
    ] = []


class AuthSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may call."""

    off: Annotated[bool, _doc("Turn authentication off, on a loopback address only.")] = False
    shared_secret: Annotated[
        Secret | None, _doc("Secret of workers without a credential of their own, at least 32 characters.")
    ] = None
    shared_secret_file: Annotated[Path | None, _doc("File that holds the shared secret.")] = None
    credentials_key: Annotated[
        Secret | None,
        _doc("Key that encrypts credentials at rest; by default made in the data directory."),
    ] = None
    credentials_key_file: Annotated[Path | None, _doc("File that holds that key.")] = None
    rotation_grace_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=10**7)],
        _doc("How long the old credential stays valid when a rotation does not say."),
    ] = 0
    session_hours: Annotated[Seconds, _doc("Life of a signed-in session without use.")] = 12
    login_attempts: Annotated[Count, _doc("Failed logins before the next one has to wait.")] = 5
    login_delay_seconds: Annotated[Seconds, _doc("Longest such wait.")] = 900
    jwt: Annotated[JwtSection, _doc("Tokens.")] = JwtSection()
    mtls: Annotated[MtlsSection, _doc("Client certificates.")] = MtlsSection()


class RatesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much one caller may ask."""

    requests_per_second: Annotated[
        Annotated[float, Meta(ge=0)], _doc("Lasting rate of one caller; 0 turns the limit off.")
    ] = 0
    burst: Annotated[Count, _doc("Requests one caller may send at once above that rate.")] = 200


class OtelSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Traces for an OpenTelemetry collector."""

    endpoint: Annotated[
        str | None, _doc("Where spans go by OTLP/HTTP, such as `http://localhost:4318/v1/traces`; without it none do.")
    ] = None
    service_name: Annotated[str, _doc("Name of this server in the traces.")] = "cableferry"
    sample_ratio: Annotated[Annotated[float, Meta(ge=0, le=1)], _doc("Share of requests that are traced.")] = 1.0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings, one section each."""

    server: ServerSection = ServerSection()
    database: DatabaseSection = DatabaseSection()
    artifacts: ArtifactsSection = ArtifactsSection()
    log: LogSection = LogSection()
    metrics: MetricsSection = MetricsSection()
    emx2: Emx2Section = Emx2Section()
    opeva: OpevaSection = OpevaSection()
    timeouts: TimeoutsSection = TimeoutsSection()
    workers: WorkersSection = WorkersSection()
    logs: LogsSection = LogsSection()
    auth: AuthSection = AuthSection()
    limits: RatesSection = RatesSection()
    otel: OtelSection = OtelSection()

    @property
    def database_url(self) -> str:
        return self.database.url or f"sqlite:///{self.database.data_dir / 'cableferry.db'}"
