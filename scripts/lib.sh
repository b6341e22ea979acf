# Shared by the scripts of this folder; sourced, never run. Everything said here goes to standard
# error, so that a script's standard output stays usable by its caller.

say() { printf '%s\n' "clasp: $*" >&2; }

die() {
    printf '%s\n' "clasp: error: $*" >&2
    exit 1
}

# The user's cache: what is costly to make and the same for every checkout.
cache_dir() {
    if [ -n "${XDG_CACHE_HOME:-}" ]; then
        printf '%s\n' "$XDG_CACHE_HOME/clasp"
    elif [ -n "${HOME:-}" ]; then
        printf '%s\n' "$HOME/.cache/clasp"
    else
        die "neither XDG_CACHE_HOME nor HOME is set; set one, the pinned llama.cpp is kept below it"
    fi
}

need() {
    command -v "$1" >/dev/null 2>&1 || die "$1 is missing; scripts/setup installs what is needed"
}

# fetch_npm_package NAME VERSION FILE: the package file as the registry that npm is configured for has it. The
# caller checks what came.
fetch_npm_package() {
    local work
    work=$(dirname "$3")/npm-work
    need npm
    mkdir -p "$work"
    npm pack "$1@$2" --pack-destination "$work" --loglevel error --cache "$work/cache" >"$work/log" 2>&1 ||
        die "npm could not fetch $1 $2: $(tail -n 5 "$work/log")"
    mv "$work"/*.tgz "$3"
    rm -rf "$work"
}

# The compiler cache is shared by all checkouts: paths below the checkout are hashed relative to it.
use_ccache() {
    export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-time_macros}
}

# ninja_with_progress LABEL LOG ninja-arguments...: runs ninja and shows its progress as a bar on a
# terminal, as a line per tenth elsewhere. All output goes to LOG; its end is shown on failure.
ninja_with_progress() {
    local label=$1 log=$2
    shift 2
    local bar='##############################' gap='..............................'
    local line='' rest='' done_steps='' all_steps='' percent=0 shown=-1 status=0
    : >"$log"
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        case $line in "[clasp "*) ;; *) continue ;; esac
        rest=${line#\[clasp }
        done_steps=${rest%%/*}
        rest=${rest#*/}
        all_steps=${rest%%\]*}
        percent=$((100 * done_steps / all_steps))
        [ "$percent" -gt "$shown" ] || continue
        if [ -t 2 ]; then
            printf '\rclasp: %s [%s%s] %3d %%' "$label" "${bar:0:percent*30/100}" \
                "${gap:0:30-percent*30/100}" "$percent" >&2
            shown=$percent
        elif [ $((percent / 10)) -gt $((shown / 10)) ] || [ "$shown" -lt 0 ]; then
            say "$label $percent %"
            shown=$percent
        fi
    done < <(NINJA_STATUS='[clasp %f/%t] ' ninja "$@" 2>&1)
    wait $! || status=$?
    [ ! -t 2 ] || [ "$shown" -lt 0 ] || printf '\n' >&2
    if [ "$status" -ne 0 ]; then
        grep -v '^\[clasp ' "$log" | tail -n 60 >&2
        return 1
    fi
}

# our_files find-expression...: the files of ours that match, each ended by a zero byte. Run from the root.
our_files() {
    local folders=() folder
    for folder in include src tests fuzz bench examples training; do
        [ ! -d "$folder" ] || folders+=("$folder")
    done
    find "${folders[@]}" -type f \( "$@" \) -print0 | sort -z
}

# The versions of the Debian packages of some groups, for keys of cached results.
installed_versions() {
    if command -v dpkg-query >/dev/null 2>&1; then
        "$(dirname "${BASH_SOURCE[0]}")/setup" --list "$@" |
            xargs dpkg-query -W -f '${Package} ${Version}\n' 2>/dev/null || true
    fi
    c++ --version | head -n 1
}
