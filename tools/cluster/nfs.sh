#!/usr/bin/env bash
# A head node that sees the jobs' folder over a real NFS, on a machine whose own kernel has none:
#
#   nfs.sh up                serves $NFS_DIR/export, which is what the cluster's nodes see, and builds a head node
#   nfs.sh boot PAYLOAD      boots a small machine (emulated) that mounts it under the same path; what is in the folder
#                            PAYLOAD lies in its root, and /run.sh of it is run there; ends with that script's exit code
#   nfs.sh down              stops serving, and removes everything
#
# In there this machine is 10.0.2.2. NFS_OPTIONS are more options of its mount; without any, what a folder does not
# contain is remembered for half a minute.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

NFS_DIR=$(realpath -m "${NFS_DIR:-/var/tmp/cableferry-nfs-$(printf %s "$CHECKOUT" | sha256sum | cut -c1-8)}")
EXPORT=$NFS_DIR/export
IMAGE=${NFS_IMAGE:-$NFS_DIR/image}

serve() {
    ensure nfs-ganesha nfs-ganesha-vfs
    mkdir -p "$EXPORT" "$NFS_DIR/recovery"
    # with a sticky bit the server would refuse to rename
    chmod 777 "$EXPORT"
    [ -s "$NFS_DIR/port" ] || free_port >"$NFS_DIR/port"
    cat >"$NFS_DIR/ganesha.conf" <<CONF
NFS_CORE_PARAM { NFS_Port = $(cat "$NFS_DIR/port"); Bind_addr = 127.0.0.1; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; }
NFSV4 { Grace_Period = 2; Lease_Lifetime = 10; Only_Numeric_Owners = true; RecoveryRoot = $NFS_DIR/recovery; }
EXPORT { Export_Id = 1; Path = $EXPORT; Pseudo = /export; Access_Type = RW; Squash = Root_Squash; SecType = sys; Protocols = 4; Attr_Expiration_Time = 0; FSAL { Name = VFS; } }
LOG { Default_Log_Level = EVENT; }
CONF
    runs "$NFS_DIR/pid" ganesha.nfsd || start_server
    local left=100
    until grep -q 'NFS SERVER INITIALIZED' "$NFS_DIR/log" 2>/dev/null; do
        left=$((left - 1))
        [ $left -gt 0 ] || { tail -n 3 "$NFS_DIR/log" >&2; die "the NFS server did not come up"; }
        sleep 0.1
    done
    say "NFS serves $EXPORT"
}

start_server() {
    rm -f "$NFS_DIR/pid" "$NFS_DIR/log"
    ganesha.nfsd -f "$NFS_DIR/ganesha.conf" -L "$NFS_DIR/log" -p "$NFS_DIR/pid"
}

free_port() {
    "$CHECKOUT/.venv/bin/python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

build_image() { # a kernel with NFS, and what a head node has: Python, Slurm's commands and munge
    [ ! -s "$IMAGE/root.cpio" ] || return 0
    say "building a head node in $IMAGE"
    ensure qemu-system-x86 cpio kmod mmdebstrap
    local work root version number=100 module
    work=$(mktemp -d)
    trap "rm -rf '$work'" EXIT
    chmod 755 "$work"
    root=$work/root
    mkdir -p "$IMAGE"
    mmdebstrap --quiet --variant=extract --include=python3-minimal,libpython3-stdlib,busybox-static,slurm-client,munge \
        --aptopt='Acquire::Check-Valid-Until "false"' "$(. /etc/os-release; echo "$VERSION_CODENAME")" "$root" "$(mirror)"
    rm -rf "$root"/usr/share/{doc,man,locale,lintian} "$root"/var/lib/apt "$root"/var/cache
    link_folders "$root"
    (
        cd "$work"
        apt-get -qq download "$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2; exit }')"
        dpkg -x linux-image-*.deb kernel
    )
    version=$(ls "$work/kernel/lib/modules")
    depmod -b "$work/kernel" "$version"
    mkdir -p "$root/modules"
    for module in $(for name in virtio_pci virtio_net nfsv4; do
        modprobe -d "$work/kernel" -S "$version" --show-depends "$name" | awk '/^insmod/ { print $2 }'
    done | awk '!seen[$0]++'); do
        cp "$module" "$root/modules/$number-$(basename "$module")"
        number=$((number + 1))
    done
    cp "$work/kernel/boot/vmlinuz-$version" "$IMAGE/kernel"
    write_init "$root"
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$IMAGE/root.cpio.part"
    mv "$IMAGE/root.cpio.part" "$IMAGE/root.cpio"
}

link_folders() { # link_folders ROOT: an unpacked Debian has no links yet
    local name program
    for name in bin sbin lib lib64; do
        [ -e "$1/$name" ] || [ ! -d "$1/usr/$name" ] || ln -s "usr/$name" "$1/$name"
    done
    mkdir -p "$1"/{proc,sys,dev,tmp,run,var/tmp}
    [ -e "$1/bin/busybox" ] || die "no busybox in the image"
    for program in $("$1/bin/busybox" --list); do
        [ -e "$1/bin/$program" ] || ln -s busybox "$1/bin/$program"
    done
}

write_init() { # write_init ROOT: the first process of the head node
    cat >"$1/init" <<'INIT'
#!/bin/busybox sh
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs -o mode=1777 tmp /tmp
for module in /modules/*; do insmod "$module"; done
set -a; . /boot.env; set +a
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
hostname head
mkdir -p "$EXPORT"
echo "@@BEGIN"
code=125
if mount -t nfs -o "vers=4.2,port=$PORT,addr=10.0.2.2,clientaddr=10.0.2.15$OPTIONS" 10.0.2.2:/export "$EXPORT"; then
    sh /run.sh
    code=$?
fi
echo "@@END $code"
poweroff -f
INIT
    chmod 755 "$1/init"
}

boot() { # boot PAYLOAD
    runs "$NFS_DIR/pid" ganesha.nfsd || die "nothing is served: nfs.sh up"
    local work code
    work=$(mktemp -d)
    trap "rm -rf '$work'" EXIT
    printf 'PORT=%s\nEXPORT=%s\nOPTIONS=%s\n' "$(cat "$NFS_DIR/port")" "$EXPORT" "${NFS_OPTIONS:+,$NFS_OPTIONS}" >"$work/boot.env"
    (cd "$work" && echo boot.env | cpio --quiet -o -H newc) >"$work/first.cpio"
    (cd "$1" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/second.cpio"
    # archives behind each other are one, and later ones win
    cat "$IMAGE/root.cpio" "$work/first.cpio" "$work/second.cpio" >"$work/initrd"
    # nothing accelerates it: where there is a KVM it is often one that hangs
    setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,thread=single -cpu max -m "${NFS_MEMORY:-1500}" -smp 1 -kernel "$IMAGE/kernel" \
        -initrd "$work/initrd" -append 'console=ttyS0 quiet panic=-1' -display none -serial stdio -monitor none \
        -no-reboot -nic user,model=virtio-net-pci </dev/null 2>/dev/null |
        sed -u -n 's/\r*$//; /^@@BEGIN/,/^@@END/p' | tee "$work/said" | grep --line-buffered -v '^@@' || true
    code=$(awk '/^@@END/ { print $2 }' "$work/said")
    exit "${code:-124}"
}

down() {
    local pid
    pid=$(cat "$NFS_DIR/pid" 2>/dev/null) || true
    if is_alive "$pid" ganesha.nfsd; then
        kill -KILL "$pid"
        while is_alive "$pid" ganesha.nfsd; do sleep 0.02; done
    fi
    rm -rf "$NFS_DIR"
    say "NFS stopped"
}

[ "$(id -u)" = 0 ] || die "only root can serve NFS"
case ${1:-} in
up) build_image; serve ;;
boot) boot "$2" ;;
down) down ;;
*) die "usage: nfs.sh up | boot PAYLOAD | down" ;;
esac
