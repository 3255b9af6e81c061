#!/usr/bin/env bash
# Makes sure that a browser is here for the tests of the dashboard.
set -eu

command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "set-up: installing Chromium for the tests of the dashboard"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    exit 0
fi

echo "set-up: Chromium is not here; as root: apt-get install chromium" >&2
if [ "${CI:-}" = true ]; then
    echo "set-up: with CI=true its tests may not be skipped" >&2
    exit 1
fi
echo "set-up: the tests in tests/web are skipped" >&2
