#!/usr/bin/env bash
# Another Debian beside this one, for another Slurm:
#
#   chroot.sh build SUITE FOLDER [PACKAGE...]
#   chroot.sh run FOLDER [-b PATH]... COMMAND...   a PATH is seen inside under the same name
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

[ "$(id -u)" = 0 ] || die "only root can change roots"

build() { # build SUITE FOLDER [PACKAGE...]
    local suite=$1 folder packages
    folder=$(realpath -m "$2")
    shift 2
    [ ! -e "$folder/.complete" ] || return 0
    say "building a $suite in $folder"
    ensure mmdebstrap
    # without mount in it nobody could let go of the old root
    packages=$(IFS=,; echo "mount $*" | tr ' ' ,)
    rm -rf "$folder"
    mkdir -p "$folder"
    # a mirror's copy of a moving suite may be older than the date it promises
    mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" \
        "$suite" "$folder" "$(mirror)"
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
    chmod 755 "$folder/usr/sbin/policy-rc.d"
    : >"$folder/.complete"
}

run() { # run FOLDER [-b PATH]... COMMAND...: in a mount namespace of its own, so nothing is left to unmount
    ROOT=$(realpath "$1") BINDS=
    shift
    while [ "${1:-}" = -b ]; do
        BINDS+="$(realpath "$2") "
        shift 2
    done
    export ROOT BINDS
    exec unshare -m --propagation private bash -c '
        set -e
        mount --bind "$ROOT" "$ROOT"
        for place in proc sys dev; do mount --rbind /$place "$ROOT/$place"; done
        for place in $BINDS; do
            if [ -d "$place" ]; then mkdir -p "$ROOT$place"; else mkdir -p "$ROOT$(dirname "$place")"; : >>"$ROOT$place"; fi
            mount --bind "$place" "$ROOT$place"
        done
        for place in /etc/hosts /etc/resolv.conf; do
            [ ! -e $place ] || { : >>"$ROOT$place"; mount --bind $place "$ROOT$place"; }
        done
        # a process in a mere chroot may make no user namespaces, and Apptainer needs them
        mkdir -p "$ROOT/.old"
        cd "$ROOT"
        pivot_root . .old
        umount -l /.old
        cd /
        unset ROOT BINDS
        exec "$@"' chroot "$@"
}

case ${1:-} in
build) shift; build "$@" ;;
run) shift; run "$@" ;;
*) die "usage: chroot.sh build SUITE FOLDER [PACKAGE...] | run FOLDER [-b PATH]... COMMAND..." ;;
esac
