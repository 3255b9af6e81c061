#!/usr/bin/env bash
# Builds a small image without any registry, a busybox and nothing else: image.sh FILE
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

image=$1
[ ! -s "$image" ] || exit 0
ensure busybox-static
say "building $image"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,etc,home,mnt,opt,proc,root,run,sys,tmp,usr/bin,var/tmp}
cp "$(command -v busybox)" "$root/bin/busybox"
for name in $("$root/bin/busybox" --list); do [ "$name" = busybox ] || ln -s busybox "$root/bin/$name"; done
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
: >"$root/etc/resolv.conf"
: >"$root/etc/hosts"
: >"$root/etc/localtime"
chmod 755 "$root"
chmod 1777 "$root/tmp" "$root/var/tmp"
"$APPTAINER_PREFIX/usr/bin/apptainer" -q build --force "$image.part" "$root" >/dev/null 2>&1 || die "$image could not be built"
chmod 644 "$image.part"
mv "$image.part" "$image"
