#!/usr/bin/env bash
# Builds the dashboard from web/ into the package, when something of it has changed and node is here.
set -eu
cd "$(dirname "$0")/.."

built=src/cableferry/server/built
stamp=$built/.stamp
described=build/openapi.json

missing() {
    echo "set-up: node 20 and npm are not here, so the dashboard is not built; on Debian: apt-get install nodejs npm" >&2
    [ "${CI:-}" != true ] || exit 1
    echo "set-up: everything else works without it, and its tests are skipped" >&2
    exit 0
}

is_current() { [ -e "$stamp" ] && cmp -s "$stamp" <(fingerprint); }

fingerprint() { # what the build is made of
    find web -path web/node_modules -prune -o -type f ! -name '*.gen.ts' -print0 | sort -z | xargs -0 sha256sum
    sha256sum "$described"
}

mkdir -p build
.venv/bin/cableferry openapi --json >"$described"
! is_current || exit 0
command -v npm >/dev/null && node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2>/dev/null || missing

echo "set-up: building the dashboard"
if ! cmp -s web/package-lock.json web/node_modules/.installed; then
    (cd web && npm ci --silent --no-audit --no-fund)
    cp web/package-lock.json web/node_modules/.installed
fi
(cd web && npm run --silent types >/dev/null && npm run --silent check && npm run --silent build -- --logLevel error)
fingerprint >"$stamp"
