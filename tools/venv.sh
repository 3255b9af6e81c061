#!/usr/bin/env bash
# Builds .venv from requirements.lock with nothing but Python 3.11 or newer; run by make, which knows when it is needed.
set -eu

venv=.venv
stamp=$venv/.locked

newest_python() {
    for candidate in "${PYTHON:-}" python3.11 python3 python3.14 python3.13 python3.12; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "set-up: no Python 3.11 or newer was found; on Debian 12: apt-get install python3 python3-venv" >&2
    exit 1
}

need_venv_module() {
    "$1" -c 'import venv, ensurepip' 2>/dev/null && return
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "set-up: this Python has no venv module, installing $package" >&2
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null && return
    fi
    echo "set-up: this Python cannot make a virtual environment; as root: apt-get install $package" >&2
    exit 1
}

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(newest_python)
    need_venv_module "$python"
    "$python" -m venv --clear "$venv"
fi

if [ ! "$stamp" -nt requirements.lock ]; then
    echo "set-up: installing what requirements.lock pins into $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        --root-user-action ignore --require-hashes -r requirements.lock
    touch "$stamp"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --root-user-action ignore --no-index --no-build-isolation --no-deps -e .
