#!/usr/bin/env bash
# Starts a real Slurm on this machine, without systemd; what runs already is left alone, what died is started again.
#
#   up.sh           starts it
#   up.sh --where   says where it lies
#
#   CLUSTER_DIR          where it lies (a place outside the checkout, one per checkout)
#   CLUSTER_ACCOUNTING   slurmdbd (default), or none: a site without sacct
#   CLUSTER_BESIDE       where another one lies: this is one more cluster of its site, with the same munge and accounts
#   CLUSTER_CGROUP       auto (default), v1 or none: without, memory is polled and a job over it is killed by a signal
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"
. "$here/settings.sh"

if [ "${1:-}" = --where ]; then
    echo "$CLUSTER_DIR"
    exit
fi
[ "$(id -u)" = 0 ] || die "a cluster is started by root: sudo make cluster"

ACCOUNTING=${CLUSTER_ACCOUNTING:-slurmdbd}
CGROUP=${CLUSTER_CGROUP:-auto}
if [ "$CGROUP" = auto ]; then
    CGROUP=none
    [ ! -w /sys/fs/cgroup/memory ] || [ ! -w /sys/fs/cgroup/freezer ] || CGROUP=v1
fi
SLURM_VERSION=$(slurmctld -V | awk '{ print $2 }')
SLURM_NUMBER=$(awk -F. '{ print $1 * 100 + $2 }' <<<"$SLURM_VERSION")
SITE=$(realpath -m "${CLUSTER_BESIDE:-$CLUSTER_DIR}")
MUNGE_SOCKET=$SITE/munge/socket

start() { # start PROGRAM...: in a session of its own, with nothing of ours in its environment
    setsid env -i PATH="$PATH" LC_ALL=C SLURM_CONF="$SLURM_CONF" "$@" </dev/null
}

await() { # await SECONDS WHAT COMMAND...
    local left=$(($1 * 10)) what=$2
    shift 2
    until timeout 5 "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || die "$what did not come up, see $CLUSTER_DIR/log"
        sleep 0.1
    done
}

is_free() { # is_free FIRST_PORT: nobody listens on the block that begins there
    local port
    for ((port = $1; port < $1 + 32; port++)); do
        ! grep -qsiE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$port") [0-9A-F:]+ 0A" /proc/net/tcp /proc/net/tcp6 || return 1
    done
}

choose_ports() { # several clusters on one machine differ in their ports and in the names of their nodes
    local number=0
    if [ ! -s "$CLUSTER_DIR/number" ]; then
        until is_free $((17000 + 32 * number)) && ! grep -qsx "$number" /var/tmp/cableferry-cluster-*/number; do
            number=$((number + 1))
        done
        echo "$number" >"$CLUSTER_DIR/number"
    fi
    number=$(cat "$CLUSTER_DIR/number")
    PORT=$((17000 + 32 * number))
    ACCOUNTS_PORT=$((17001 + 32 * $(cat "$SITE/number")))
    CLUSTER_NAME=ferry$number
    CPU_NODES=("f${number}c1" "f${number}c2")
    GPU_NODE=f${number}g1
}

make_folders() {
    install -d -m 755 "$CLUSTER_DIR" "$CLUSTER_DIR"/{etc,spool}
    install -d -m 1777 "$CLUSTER_DIR/jobs"
    install -d -m 755 -o slurm -g slurm "$CLUSTER_DIR"/{log,state,run}
    install -d -m 755 -o munge -g munge "$CLUSTER_DIR/munge"
}

start_munged() {
    local key=$CLUSTER_DIR/munge/key
    [ -s "$key" ] || head -c 128 /dev/urandom | install -m 400 -o munge -g munge /dev/stdin "$key"
    runs "$CLUSTER_DIR/munge/munged.pid" munged && return
    rm -f "$MUNGE_SOCKET"*
    start setpriv --reuid munge --regid munge --clear-groups munged --key-file="$key" --socket="$MUNGE_SOCKET" \
        --pid-file="$CLUSTER_DIR/munge/munged.pid" --log-file="$CLUSTER_DIR/munge/log" \
        --seed-file="$CLUSTER_DIR/munge/seed" --num-threads=4
}

start_mariadbd() {
    local sql=(mariadb --no-defaults -S "$CLUSTER_DIR/mysql/socket" -uroot)
    install -d -m 755 -o mysql -g mysql "$CLUSTER_DIR/mysql"
    write_mariadb_settings
    [ -d "$CLUSTER_DIR/mysql/data/mysql" ] ||
        mariadb-install-db --defaults-file="$CLUSTER_DIR/etc/my.cnf" --auth-root-authentication-method=socket \
            --skip-test-db --skip-name-resolve >"$CLUSTER_DIR/log/mariadb-install.log" 2>&1 || die "see $CLUSTER_DIR/log"
    runs "$CLUSTER_DIR/mysql/mariadbd.pid" mariadbd ||
        start mariadbd --defaults-file="$CLUSTER_DIR/etc/my.cnf" >/dev/null 2>&1 &
    await 60 mariadbd "${sql[@]}" -e 'select 1'
    [ -s "$CLUSTER_DIR/etc/password" ] || head -c 18 /dev/urandom | base64 | tr -d '/+=' |
        install -m 600 /dev/stdin "$CLUSTER_DIR/etc/password"
    write_slurmdbd_settings "$(cat "$CLUSTER_DIR/etc/password")"
    "${sql[@]}" <<SQL
create database if not exists slurm_acct_db;
create or replace user 'slurm'@'127.0.0.1' identified by '$(cat "$CLUSTER_DIR/etc/password")';
grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';
SQL
}

start_slurmdbd() {
    runs "$CLUSTER_DIR/run/slurmdbd.pid" slurmdbd || start slurmdbd >>"$CLUSTER_DIR/log/slurmdbd.out" 2>&1
    await 60 slurmdbd sacctmgr -n show cluster
}

account() { # who may submit, and an account that takes one job at a time
    [ ! -e "$CLUSTER_DIR/accounted" ] || return 0
    local users
    users=$(IFS=,; echo "${CLUSTER_USERS[*]}")
    {
        sacctmgr -i add cluster "$CLUSTER_NAME"
        sacctmgr -i add account lab,tight cluster="$CLUSTER_NAME" Description=lab Organization=lab
        sacctmgr -i modify account where name=tight cluster="$CLUSTER_NAME" set MaxSubmitJobs=1
        sacctmgr -i add user "$users" account=lab cluster="$CLUSTER_NAME"
        sacctmgr -i add user "$users" account=tight cluster="$CLUSTER_NAME"
        sacctmgr -i modify user where name="$users" cluster="$CLUSTER_NAME" set DefaultAccount=lab
        sacctmgr -i add user root account=lab cluster="$CLUSTER_NAME"
    } >"$CLUSTER_DIR/log/sacctmgr.out" 2>&1 || true
    sacctmgr -n show association cluster="$CLUSTER_NAME" format=user%20,account%20 | grep -q "${CLUSTER_USERS[0]} .*tight" ||
        die "no accounts: see $CLUSTER_DIR/log/sacctmgr.out"
    : >"$CLUSTER_DIR/accounted"
}

start_slurm() {
    local node
    runs "$CLUSTER_DIR/run/slurmctld.pid" slurmctld || start slurmctld >>"$CLUSTER_DIR/log/slurmctld.out" 2>&1 ||
        { tail -n 5 "$CLUSTER_DIR/log/slurmctld.log" >&2; die "slurmctld did not start"; }
    for node in "${CPU_NODES[@]}" "$GPU_NODE"; do
        runs "$CLUSTER_DIR/run/slurmd.$node.pid" slurmd && continue
        mkdir -p "$CLUSTER_DIR/spool/$node"
        start slurmd -N "$node" >>"$CLUSTER_DIR/log/slurmd.$node.out" 2>&1 ||
            { tail -n 5 "$CLUSTER_DIR/log/slurmd.$node.log" >&2; die "slurmd of $node did not start"; }
    done
    await 20 slurmctld scontrol ping
    # sinfo has no exit code for a node that is not there yet
    await 40 nodes sh -c '[ "$(sinfo -h -N -t idle,mix,alloc,comp -o %N | sort -u | wc -l)" -eq 3 ]'
}

write_facts() { # what the tests and whoever else comes must know
    cat >"$CLUSTER_DIR/env.sh" <<ENV
export SLURM_CONF=$SLURM_CONF
ENV
    cat >"$CLUSTER_DIR/cluster.json.new" <<JSON
{"slurm_conf": "$SLURM_CONF", "version": "$SLURM_VERSION", "name": "$CLUSTER_NAME", "has_accounting": $([ "$ACCOUNTING" = slurmdbd ] && echo true || echo false),
 "has_cgroup": $([ "$CGROUP" = v1 ] && echo true || echo false), "users": ["${CLUSTER_USERS[0]}", "${CLUSTER_USERS[1]}"],
 "cpu_nodes": ["${CPU_NODES[0]}", "${CPU_NODES[1]}"], "gpu_node": "$GPU_NODE", "jobs": "$CLUSTER_DIR/jobs",
 "apptainer": "$APPTAINER_PREFIX/usr/bin/apptainer", "image": "$CLUSTER_IMAGE"}
JSON
    mv "$CLUSTER_DIR/cluster.json.new" "$CLUSTER_DIR/cluster.json"
}

exec 9>/var/tmp/cableferry-cluster.lock
flock 9
mkdir -p "$CLUSTER_DIR"
choose_ports
make_folders
export SLURM_CONF=$CLUSTER_DIR/etc/slurm.conf
write_slurm_settings
changed=false
cmp -s "$SLURM_CONF.new" "$SLURM_CONF" || changed=true
mv "$SLURM_CONF.new" "$SLURM_CONF"
# daemons must not keep our lock
exec 9>&-
if [ "$SITE" = "$CLUSTER_DIR" ]; then
    start_munged
    if [ "$ACCOUNTING" = slurmdbd ]; then
        start_mariadbd
        start_slurmdbd
    fi
fi
[ "$ACCOUNTING" != slurmdbd ] || account
[ "$changed" = false ] || ! runs "$CLUSTER_DIR/run/slurmctld.pid" slurmctld || scontrol reconfigure
start_slurm
write_facts
say "Slurm $SLURM_VERSION is up: . $CLUSTER_DIR/env.sh && sinfo"
