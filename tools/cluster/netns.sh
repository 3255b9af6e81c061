#!/usr/bin/env bash
# A host that only calls out: a network namespace which nothing can connect into, and which counts who tried.
#
#   netns.sh up NAME [PORT...]                 this machine is $OUTSIDE to it; PORTs narrow what may be called there
#   netns.sh run NAME [-u USER] COMMAND...     a command inside; only the network differs
#   netns.sh counts NAME                       what was tried: inbound, outbound, outbound_refused
#   netns.sh down NAME
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/place.sh"

OUTSIDE=${OUTSIDE:-10.213.77.1}
INSIDE=${INSIDE:-10.213.77.2}
# the name of a network interface holds 15 letters
cable() { printf 'cf-%s' "$(printf %s "$1" | sha256sum | cut -c1-10)"; }
inside() { # not `ip netns exec`, which mounts another /sys, without the cgroups
    nsenter --net="/run/netns/$1" "${@:2}"
}

up() { # up NAME [PORT...]
    local name=$1 ports
    shift
    ensure iproute2 nftables
    [ -e "/run/netns/$name" ] || ip netns add "$name"
    if ! ip link show "$(cable "$name")" >/dev/null 2>&1; then
        ip link add "$(cable "$name")" type veth peer name up0 netns "$name"
        ip addr add "$OUTSIDE/30" dev "$(cable "$name")"
    fi
    ip link set "$(cable "$name")" up
    ip -n "$name" addr replace "$INSIDE/30" dev up0
    ip -n "$name" link set lo up
    ip -n "$name" link set up0 up
    ip -n "$name" route replace default via "$OUTSIDE"
    ports=$(IFS=,; echo "$*")
    rules "ip daddr $OUTSIDE${ports:+ tcp dport { $ports \}}" | inside "$name" nft -f -
}

rules() { # rules ALLOWED: nothing comes in but answers, nothing goes out but what is allowed
    cat <<NFT
table inet gate
delete table inet gate
table inet gate {
    counter inbound { }
    counter outbound { }
    counter outbound_refused { }
    chain input {
        type filter hook input priority 0; policy drop;
        iif lo accept
        ct state established,related accept
        meta l4proto icmpv6 drop
        ct state new counter name inbound
        meta l4proto tcp reject with tcp reset
        reject
    }
    chain output {
        type filter hook output priority 0; policy drop;
        oif lo accept
        ct state established,related accept
        meta l4proto icmpv6 drop
        $1 ct state new counter name outbound accept
        counter name outbound_refused
        meta l4proto tcp reject with tcp reset
        reject
    }
}
NFT
}

run() { # run NAME [-u USER] COMMAND...
    local name=$1 as=()
    shift
    if [ "${1:-}" = -u ]; then
        as=(setpriv --reuid "$2" --regid "$2" --init-groups)
        shift 2
    fi
    exec nsenter --net="/run/netns/$name" "${as[@]}" "$@"
}

counts() { # counts NAME
    inside "$1" nft list counters table inet gate | awk '/counter/ { name = $2 } /packets/ { print name, $2 }'
}

down() { # down NAME
    ip link del "$(cable "$1")" 2>/dev/null || true
    ip netns del "$1" 2>/dev/null || true
}

[ "$(id -u)" = 0 ] || die "only root can make networks"
[ -n "${2:-}" ] || die "usage: netns.sh up NAME [PORT...] | run NAME [-u USER] COMMAND... | counts NAME | down NAME"
case $1 in
up | run | counts | down) "$@" ;;
*) die "usage: netns.sh up NAME [PORT...] | run NAME [-u USER] COMMAND... | counts NAME | down NAME" ;;
esac
