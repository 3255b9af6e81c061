# What a node sees of what jobs need: probe FOLDER PROGRAM [PATH...], each fact on a line; no shell reads the words again.
folder=$1 program=$2
shift 2
echo "node $(hostname -s)"
echo "clock $(date +%s)"
mine=$folder/.probe-$SLURM_JOB_ID
if mkdir -- "$mine" && echo x >"$mine/a" && ln -- "$mine/a" "$mine/b"; then echo "writes yes"; else echo "writes no"; fi
rm -rf -- "$mine"
[ -z "$program" ] || echo "program $("$program" --version 2>&1 | head -n 1)"
number=0
for path in "$@"; do
    if [ -r "$path" ]; then echo "there $number"; else echo "absent $number"; fi
    number=$((number + 1))
done
echo "over yes"
