# For tests that ask a server from outside; sourced. What cannot be had here ends the test with 77, which ctest takes
# for "skipped".

skip() {
    printf 'skipped: %s\n' "$1"
    exit 77
}

# need COMMAND...: all of them, and a node that knows what the tests use.
need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || skip "there is no $tool here"
    done
    [ "$(node -p 'Number(process.versions.node.split(".")[0])')" -ge 18 ] || skip "node is older than 18"
}

# fetch_packages FROM FOLDER [TESTS]: the npm packages of FROM/package-lock.json into FOLDER, once, and the tests of the
# folder TESTS (FROM) beside them.
fetch_packages() {
    mkdir -p "$2"
    cp "$1"/package.json "$1"/package-lock.json "${3:-$1}"/*.mjs "$2/"
    cd "$2"
    if ! cmp -s package-lock.json node_modules/.fetched; then
        npm ci --no-audit --no-fund --loglevel error >npm.log 2>&1 ||
            skip "npm could not fetch the packages: $(tail -n 3 npm.log)"
        cp package-lock.json node_modules/.fetched
    fi
}

# start_server PROGRAM OPTIONS...: `PROGRAM serve` on a port of its own until the script ends; sets url.
start_server() {
    local program=$1
    shift
    "$program" serve --port 0 "$@" >server.out 2>server.err &
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    url=
    for _ in $(seq 600); do
        url=$(sed -n 's/^listening on //p' server.out)
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || {
            cat server.err
            exit 1
        }
        sleep 0.1
    done
    printf 'the server did not say where it listens\n'
    exit 1
}
