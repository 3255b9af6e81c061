#!/usr/bin/env bash
# Runs a command of this checkout on another Debian, hence with another Slurm, daemons and commands alike:
#
#   inside.sh SUITE COMMAND...    builds that Debian in $CLUSTER_ROOTS if it is not there yet
#   inside.sh --forget SUITE
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

CLUSTER_ROOTS=$(realpath -m "${CLUSTER_ROOTS:-/var/tmp/cableferry-roots}")

python_places() { # what the checkout's own Python is made of, which the other Debian need not have
    "$CHECKOUT/.venv/bin/python" - <<'PYTHON'
import os, sys, sysconfig

if sys.base_prefix == "/usr":
    print(os.path.realpath(sys.executable), sysconfig.get_path("stdlib"))
else:
    print(sys.base_prefix)
PYTHON
}

[ "$(id -u)" = 0 ] || die "only root can change roots"
[ -n "${2:-}" ] || die "usage: inside.sh SUITE COMMAND... | inside.sh --forget SUITE"
if [ "$1" = --forget ]; then
    rm -rf "${CLUSTER_ROOTS:?}/$2" "$CLUSTER_ROOTS/.lock-$2"
    rmdir "$CLUSTER_ROOTS" 2>/dev/null || true
    exit
fi
suite=$1
shift
mkdir -p "$CLUSTER_ROOTS"
# python3 brings the libraries that any Python wants
( flock 9; "$here/chroot.sh" build "$suite" "$CLUSTER_ROOTS/$suite" python3 busybox-static \
    "${SLURM_PACKAGES[@]}" "${APPTAINER_PACKAGES[@]}" ) 9>"$CLUSTER_ROOTS/.lock-$suite" >&2
mkdir -p "$APPTAINER_PREFIX"
places=("$CHECKOUT" /var/tmp "$APPTAINER_PREFIX")
for place in $(python_places); do places+=("$place"); done
binds=()
for place in "${places[@]}"; do binds+=(-b "$place"); done
exec "$here/chroot.sh" run "$CLUSTER_ROOTS/$suite" "${binds[@]}" \
    bash -c 'cd "$1"; tools/cluster/install.sh >&2; shift; exec "$@"' inside "$CHECKOUT" "$@"
