# Sourced by up.sh: writes the settings of every daemon of the cluster into $CLUSTER_DIR/etc.

write_mariadb_settings() {
    cat >"$CLUSTER_DIR/etc/my.cnf" <<CONF
[mariadbd]
datadir=$CLUSTER_DIR/mysql/data
socket=$CLUSTER_DIR/mysql/socket
pid-file=$CLUSTER_DIR/mysql/mariadbd.pid
log-error=$CLUSTER_DIR/mysql/error.log
user=mysql
bind-address=127.0.0.1
port=$((PORT + 2))
skip-name-resolve
skip-log-bin
performance-schema=OFF
innodb_buffer_pool_size=64M
innodb_log_file_size=32M
innodb_lock_wait_timeout=900
innodb_flush_log_at_trx_commit=0
CONF
}

write_slurmdbd_settings() { # write_slurmdbd_settings PASSWORD
    install -m 600 -o slurm -g slurm /dev/stdin "$CLUSTER_DIR/etc/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
DbdHost=localhost
DbdPort=$((PORT + 1))
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((PORT + 2))
StorageUser=slurm
StoragePass=$1
StorageLoc=slurm_acct_db
LogFile=$CLUSTER_DIR/log/slurmdbd.log
PidFile=$CLUSTER_DIR/run/slurmdbd.pid
CONF
}

write_slurm_settings() {
    { controller_settings; cgroup_settings; accounting_settings; node_settings; } >"$CLUSTER_DIR/etc/slurm.conf.new"
    gres_settings >"$CLUSTER_DIR/etc/gres.conf"
    write_cgroup_settings >"$CLUSTER_DIR/etc/cgroup.conf"
    chmod 644 "$CLUSTER_DIR"/etc/{slurm.conf.new,gres.conf,cgroup.conf}
}

controller_settings() {
    cat <<CONF
ClusterName=$CLUSTER_NAME
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
SlurmctldPort=$PORT
SlurmctldPidFile=$CLUSTER_DIR/run/slurmctld.pid
SlurmctldLogFile=$CLUSTER_DIR/log/slurmctld.log
StateSaveLocation=$CLUSTER_DIR/state
SlurmdPidFile=$CLUSTER_DIR/run/slurmd.%n.pid
SlurmdLogFile=$CLUSTER_DIR/log/slurmd.%n.log
SlurmdSpoolDir=$CLUSTER_DIR/spool/%n
# nodes claim more than this machine has
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
PropagateResourceLimits=NONE
# react quickly: tests wait for all of this
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=5,sched_min_interval=100000,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=200
MaxJobCount=20000
MinJobAge=${CLUSTER_MIN_JOB_AGE:-300}
KillWait=3
CompleteWait=0
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=10
MessageTimeout=10
BatchStartTimeout=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/multifactor
GresTypes=gpu
CONF
}

cgroup_settings() {
    if [ "$CGROUP" = v1 ]; then
        printf '%s\n' ProctrackType=proctrack/cgroup TaskPlugin=task/cgroup
    else
        printf '%s\n' ProctrackType=proctrack/linuxproc TaskPlugin=task/none JobAcctGatherParams=OverMemoryKill
    fi
    printf '%s\n' JobAcctGatherType=jobacct_gather/linux JobAcctGatherFrequency=task=1
}

write_cgroup_settings() {
    if [ "$CGROUP" = v1 ]; then
        printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup ConstrainRAMSpace=yes AllowedRAMSpace=100 \
            ConstrainSwapSpace=no ConstrainCores=no ConstrainDevices=no
    elif [ "$SLURM_NUMBER" -ge 2311 ]; then
        echo CgroupPlugin=disabled
    fi
}

accounting_settings() {
    echo JobCompType=jobcomp/none
    if [ "$ACCOUNTING" = slurmdbd ]; then
        cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$ACCOUNTS_PORT
# without it sacct and sacctmgr ask munge's usual socket, and hang
AccountingStoragePass=$MUNGE_SOCKET
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment
CONF
    else
        echo AccountingStorageType=accounting_storage/none
    fi
}

node_settings() {
    local number=0 node cpus memory=4000
    cpus="NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 CPUs=4 RealMemory=$memory State=UNKNOWN"
    for node in "${CPU_NODES[@]}"; do
        echo "NodeName=$node $cpus Port=$((PORT + 10 + number))"
        number=$((number + 1))
    done
    echo "NodeName=$GPU_NODE $cpus Port=$((PORT + 10 + number)) Gres=gpu:h200:2 Feature=h200"
    local limits='MaxTime=1-00:00:00 DefaultTime=00:30:00 State=UP'
    echo "PartitionName=cpu Nodes=$(IFS=,; echo "${CPU_NODES[*]}") Default=YES PriorityTier=10 PreemptMode=OFF $limits"
    echo "PartitionName=low Nodes=$(IFS=,; echo "${CPU_NODES[*]}") PriorityTier=1 PreemptMode=REQUEUE GraceTime=0 $limits"
    echo "PartitionName=gpu Nodes=$GPU_NODE PriorityTier=10 PreemptMode=OFF $limits"
}

gres_settings() { # any character devices do for graphics cards that nobody computes on
    echo "NodeName=$GPU_NODE Name=gpu Type=h200 File=/dev/tty[12-13]"
}
