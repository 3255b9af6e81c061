#!/bin/bash
# One attempt of one job: batch.sh RUN_DIR WORK_DIR STDOUT STDERR
#
# The same text for every job. What differs lies in files of the run's folder, and no shell reads it as commands.
set -u
run=$1 work=$2 out=$3 err=$4
restarts=${SLURM_RESTART_COUNT:-0}
mine=$SLURM_JOB_ID.$restarts

cd -- "$run" || exit 118

# The fence: a hard link comes into being once, over NFS too, and who made it is read from it, because a link that was
# made may be reported as one that was there.
printf %s "$mine" >"fence.$mine" || exit 118
ln -- "fence.$mine" fence 2>/dev/null
holder=$(cat fence) || exit 118
if [ "$holder" != "$mine" ]; then
    [ "${holder%.*}" = "$SLURM_JOB_ID" ] || exit 117
    if [ ! -e may-restart ]; then
        echo >put-back
        exit 117
    fi
    rm -f status.json
fi

words=()
while IFS= read -r -d '' word; do words+=("$word"); done <launch
modules=()
while IFS= read -r -d '' word; do modules+=("$word"); done <modules
[ ${#words[@]} -gt 0 ] || exit 118

payload() {
    cd -- "$work" || exit 118
    # ours, for the command that submitted
    unset SLURM_TIME_FORMAT LC_ALL
    if [ ${#modules[@]} -gt 0 ]; then
        set +u
        type module >/dev/null 2>&1 || . /etc/profile
        module load "${modules[@]}" || exit 118
    fi
    # what Slurm chose for this job and a container would not see
    for name in CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL SLURM_CPUS_PER_TASK; do
        [ -z "${!name:-}" ] || export "APPTAINERENV_$name=${!name}"
    done
    exec env "${words[@]}"
}

child= stopped=false
trap '[ -z "$child" ] || ! kill -TERM "$child" 2>/dev/null || stopped=true' TERM
payload >>"$out" 2>>"$err" &
child=$!
while wait "$child"; code=$?; kill -0 "$child" 2>/dev/null; do :; done
wait "$child" 2>/dev/null
code=$?

times >times.txt
took=$(tail -n 1 times.txt)
printf '{"job": "%s", "exit_code": %d, "was_stopped": %s, "seconds": %d, "cpu": "%s"}\n' \
    "$SLURM_JOB_ID" "$code" "$stopped" "$SECONDS" "$took" >status.part && mv -f status.part status.json

# The most memory that one process of the payload had: only its parent can ask for that, and a shell has no word for it.
# Slurm looks now and then, and of a brief job has seen nothing but its beginning.
shopt -s execfail
case $HOSTTYPE in x86_64) getrusage=98 ;; aarch64) getrusage=165 ;; *) getrusage= ;; esac
[ -z "$getrusage" ] || ! type perl >/dev/null 2>&1 || exec perl -e '
    $usage = "\0" x 200;
    if (!syscall(shift, -1, $usage)) { open $file, ">", "peak" and print $file 1024 * (unpack "q5", $usage)[4] }
    exit shift' "$getrusage" "$code"
! type python3 >/dev/null 2>&1 || exec python3 -IS -c '
import resource, sys
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
sys.exit(int(sys.argv[1]))' "$code"
exit "$code"
