"""Sizes and times as a site writes them for sbatch."""

import pytest

from cableferry.schedulers.slurm import amounts


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16G", 2**34),
        ("256M", 2**28),
        ("512", 2**29),
        ("64gb", 2**36),
        ("2T", 2**41),
        ("8K", 2**13),
        ("lots", None),
        ("", None),
    ],
)
def test_a_size(text: str, size: int | None) -> None:
    assert size == amounts.bytes_of(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800),
        ("30:15", 1815),
        ("04:00:00", 14400),
        ("2-12", 216000),
        ("1-00:30", 88200),
        ("1-01:01:01", 90061),
        ("UNLIMITED", None),
        ("soon", None),
    ],
)
def test_a_time(text: str, seconds: int | None) -> None:
    assert seconds == amounts.seconds_of(text)
