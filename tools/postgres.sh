#!/usr/bin/env bash
# Makes sure that PostgreSQL's programs are here; the tests start a private cluster themselves and need no service.
set -eu

installed() {
    command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

install() {
    settings=/etc/postgresql-common/createcluster.conf
    if [ ! -e "$settings" ]; then
        # the package would otherwise create and start a cluster of its own
        mkdir -p "$(dirname "$settings")"
        echo 'create_main_cluster = false' >"$settings"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold postgresql >/dev/null
}

installed && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "set-up: installing PostgreSQL's programs for the tests"
    install && installed && exit 0
fi

echo "set-up: PostgreSQL is not here; as root: apt-get install postgresql" >&2
if [ "${CI:-}" = true ]; then
    echo "set-up: with CI=true its tests may not be skipped" >&2
    exit 1
fi
echo "set-up: every test marked postgres is skipped, and the benchmarks leave its rows out" >&2
