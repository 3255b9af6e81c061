# Sourced by the scripts beside it: where this checkout's cluster lies, who its users are, and what it means that a daemon is alive.

# one cluster per checkout, and outside of it: the accounts of Slurm and of the users must be able to walk there
CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CLUSTER_DIR=$(realpath -m "${CLUSTER_DIR:-/var/tmp/cableferry-cluster-$(printf %s "$CHECKOUT" | sha256sum | cut -c1-8)}")
CLUSTER_USERS=(ferrier1 ferrier2)
APPTAINER_PREFIX=${APPTAINER_PREFIX:-/opt/apptainer}
CLUSTER_IMAGE=$APPTAINER_PREFIX/busybox.sif
SLURM_PACKAGES=(munge slurmctld slurmd slurm-client slurmdbd mariadb-server iproute2 nftables)
APPTAINER_PACKAGES=(ca-certificates squashfs-tools squashfuse uidmap patchelf)

say() { printf 'cluster: %s\n' "$*"; }
die() { printf 'cluster: %s\n' "$*" >&2; exit 1; }

has_package() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

ensure() { # ensure PACKAGE...: install those that are missing, and let none of them start a service
    local missing=() package
    for package in "$@"; do has_package "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] && return
    say "installing ${missing[*]}"
    local policy=/usr/sbin/policy-rc.d made=
    [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && made=$policy; }
    apt_get install "${missing[@]}" || { apt_get update && apt_get install "${missing[@]}"; } || die "apt-get failed"
    [ -z "$made" ] || rm -f "$made"
}

apt_get() { # apt_get update | apt_get install PACKAGE...
    local verb=$1 log
    shift
    log=$(mktemp)
    if ! DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$verb" --yes --no-install-recommends "$@" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

mirror() { # the archive this machine installs from
    awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep . ||
        awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z]+:\/\//) { print $i; exit } }' \
            /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null
}

is_alive() { # is_alive PID NAME: not another process by now, and no zombie that a lazy init has yet to reap
    [ -n "$1" ] && [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

runs() { # runs PIDFILE NAME
    is_alive "$(cat "$1" 2>/dev/null)" "$2"
}
