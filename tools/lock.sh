#!/usr/bin/env bash
# Writes requirements.lock from pyproject.toml; arguments go to uv, for example --upgrade.
set -eu

if ! command -v uv >/dev/null; then
    [ -x build/lock/bin/uv ] || { python3 -m venv build/lock && build/lock/bin/pip install --quiet 'uv>=0.13,<1'; }
    PATH=$PWD/build/lock/bin:$PATH
fi

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
[ ! -f requirements.lock ] || cp requirements.lock "$fresh"
uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
    --no-header "$@" --output-file "$fresh" pyproject.toml
{
    echo "# Every package that set-up installs, exact and with its hashes. Written by make lock from pyproject.toml."
    # options name places, and where packages come from is the machine's affair
    grep -Ev '^(#|--)' "$fresh"
} >requirements.lock
