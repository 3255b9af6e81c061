#!/usr/bin/env bash
# Stops the cluster of up.sh and removes what it wrote; only processes that its pid files or its jobs name are ended.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

[ "$(id -u)" = 0 ] || die "a cluster is stopped by root: sudo make cluster-down"
export SLURM_CONF=$CLUSTER_DIR/etc/slurm.conf
[ -e "$SLURM_CONF" ] || exit 0

end() { # end PIDFILE NAME: nothing of it is worth saving, so at once
    local pid
    pid=$(cat "$1" 2>/dev/null)
    is_alive "$pid" "$2" || return 0
    kill -CONT "$pid" 2>/dev/null
    kill -KILL "$pid" 2>/dev/null
    while is_alive "$pid" "$2"; do sleep 0.02; done
}

nodes() { awk -F'[= ]' '/^NodeName=/ { print $2 }' "$SLURM_CONF"; }

cgroups() { # the folders in which Slurm itself keeps count of what its jobs start
    local node folder
    for node in $(nodes); do
        for folder in /sys/fs/cgroup/*/slurm_"$node"; do [ ! -d "$folder" ] || echo "$folder"; done
    done
}

is_job() { # is_job PID: without cgroups, the environment tells
    [ "$(cat "/proc/$1/comm" 2>/dev/null)" = slurmstepd ] || grep -qsz '^SLURM_JOB_ID=' "/proc/$1/environ"
}

end_jobs() {
    local place pid
    for place in $(grep -lszxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ); do
        pid=${place#/proc/}
        pid=${pid%/environ}
        [ "$pid" = $$ ] || ! is_job "$pid" || kill -KILL "$pid" 2>/dev/null
    done
    for place in $(cgroups); do
        for pid in $(find "$place" -name cgroup.procs -exec cat {} + 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    done
}

remove_cgroups() { # a killed process leaves its cgroup a moment later
    local left=100
    while [ -n "$(cgroups)" ] && [ $left -gt 0 ]; do
        for place in $(cgroups); do find "$place" -depth -type d -exec rmdir {} + 2>/dev/null; done
        left=$((left - 1))
        sleep 0.02
    done
}

end "$CLUSTER_DIR/run/slurmctld.pid" slurmctld
for file in "$CLUSTER_DIR"/run/slurmd.*.pid; do end "$file" slurmd; done
end_jobs
end "$CLUSTER_DIR/run/slurmdbd.pid" slurmdbd
end "$CLUSTER_DIR/mysql/mariadbd.pid" mariadbd
end "$CLUSTER_DIR/munge/munged.pid" munged
remove_cgroups
find "$CLUSTER_DIR" -mindepth 1 -delete
# in another root it is a place of mounting, which stays
rmdir "$CLUSTER_DIR" 2>/dev/null
say "stopped"
