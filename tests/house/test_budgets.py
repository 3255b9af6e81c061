"""The numbers of the house, which only go down."""

import statistics

from tests.house import lists, sources


def test_the_median_function_is_short() -> None:
    lengths = [sources.length(function) for source in sources.product() for function in sources.functions(source)]

    assert statistics.median(lengths) <= lists.MEDIAN_FUNCTION


def test_no_exception_outlives_its_cause() -> None:
    paths = {source.path for source in sources.tracked()} | {source.place for source in sources.product()}
    named = {
        *lists.LOOSE_TYPES,
        *lists.OWN_SQL,
        *lists.PATCHES,
        *lists.SLEEPS,
        *lists.LONG_FILES,
        *(path for path, _ in lists.BROAD_EXCEPTS),
    }

    assert set() == named - paths
