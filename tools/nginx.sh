#!/usr/bin/env bash
# Makes sure that nginx's program is here; the benchmark starts one of its own and needs no service.
set -eu

installed() {
    PATH=$PATH:/usr/sbin command -v nginx >/dev/null
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    # the package would otherwise start a service of its own
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' RETURN
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get update -qq && apt-get install -y -qq --no-install-recommends nginx-light >/dev/null
}

installed && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "set-up: installing nginx for the benchmark of the S3 gateway"
    install && installed && exit 0
fi

echo "set-up: nginx is not here; as root: apt-get install nginx-light" >&2
exit 1
