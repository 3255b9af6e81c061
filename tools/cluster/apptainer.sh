#!/usr/bin/env bash
# Puts Apptainer under a prefix: apptainer.sh PREFIX
#
# Debian packages it for its newest suite only, against a newer libc. The package and its three libraries are fetched by
# an apt with a state of its own, so this machine never learns of that suite, and the programs get the prefix's loader.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

prefix=$1
suite=${APPTAINER_SUITE:-sid}

fetch() { # fetch FOLDER: the packages, unpacked
    local work=$1/apt
    mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$work"/packages
    : >"$work/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $suite main" >"$work/sources.list"
    cat >"$work/apt.conf" <<CONF
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
    (
        export APT_CONFIG=$work/apt.conf
        cd "$work/packages"
        apt-get -qq update
        apt-get -qq download apptainer libc6 libseccomp2 libsqlite3-0
    )
    for package in "$work"/packages/*.deb; do dpkg -x "$package" "$1/root"; done
}

relocate() { # relocate ROOT: the program looks for etc and var beside its bin, its starter one folder up
    mv "$1/etc" "$1/usr/etc"
    mv "$1/var" "$1/usr/var"
    ln -s ../etc "$1/usr/lib/etc"
    ln -s ../var "$1/usr/lib/var"
    rm -rf "$1/usr/share/doc" "$1/usr/share/man"
}

point_at_own_libc() {
    local libraries program
    libraries=$(dirname "$(find "$prefix/usr/lib" -name libc.so.6 | head -n 1)")
    for program in "$prefix/usr/bin/apptainer" "$(find "$prefix/usr/lib" -path '*/bin/starter')"; do
        patchelf --set-interpreter "$(find "$libraries" -name 'ld-linux-*' | head -n 1)" \
            --force-rpath --set-rpath "$libraries" "$program"
    done
}

fit_this_machine() {
    local conf=$prefix/usr/etc/apptainer/apptainer.conf mine all
    # a root without every capability cannot start a container that asks for all of them
    mine=$((16#$(awk '/^CapEff/ { print $2 }' /proc/self/status)))
    all=$(((1 << ($(cat /proc/sys/kernel/cap_last_cap) + 1)) - 1))
    [ "$mine" -eq "$all" ] || sed -i 's/^root default capabilities = .*/root default capabilities = no/' "$conf"
    # what udev does elsewhere, and what the default configuration binds into every container
    [ ! -c /dev/fuse ] || chmod 666 /dev/fuse
    [ -e /etc/localtime ] || : >/etc/localtime
    [ -e /etc/hosts ] || echo '127.0.0.1 localhost' >/etc/hosts
}

ensure "${APPTAINER_PACKAGES[@]}"
if ! "$prefix/usr/bin/apptainer" --version >/dev/null 2>&1; then
    say "installing Apptainer in $prefix"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/root"
    fetch "$work"
    relocate "$work/root"
    chmod 755 "$work/root"
    rm -rf "$prefix"
    mkdir -p "$(dirname "$prefix")"
    mv "$work/root" "$prefix"
    point_at_own_libc
    "$prefix/usr/bin/apptainer" --version >/dev/null || die "Apptainer in $prefix does not run"
fi
fit_this_machine
