#!/usr/bin/env bash
# Installs what a test cluster is made of: Slurm with accounting, Apptainer, a small image and two ordinary users.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    ensure "${SLURM_PACKAGES[@]}"
    "$here/apptainer.sh" "$APPTAINER_PREFIX"
    "$here/image.sh" "$CLUSTER_IMAGE"
    for user in "${CLUSTER_USERS[@]}"; do
        id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"
    done
    exit 0
fi

cat >&2 <<'MISSING'
set-up: a cluster of its own needs root on Debian 12 or later; without it these are skipped:
set-up:   every test marked slurm (jobs on a real Slurm, containers in real Apptainer, node failures, a paused controller)
set-up: to run them: sudo make cluster, then sudo make test; docs/how-to/test-on-a-real-cluster.md says what that installs
MISSING
if [ "${CI:-}" = true ]; then
    echo "set-up: with CI=true its tests may not be skipped" >&2
    exit 1
fi
