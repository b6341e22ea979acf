# Which vision files are encoded by libmtmd: those of src/model/vision_mtmd.cpp, to which a test holds this list.
MTMD_KINDS='dots_ocr|janus_pro|ldp|ldpv2|lightonocr|phi4|pixtral|resampler|step3vl|yasa2'

# Whether a GGUF file is of such a kind, by the keys at its beginning. Nothing is started for it: bash leaves out the
# zeros of the key's type (8: a string) and of the length, and what is left of these stands between key and name.
is_mtmd_file() {
    local LC_ALL=C head
    [ -f "$1" ] && [ -r "$1" ] || return 1
    IFS= read -r -N 16384 head <"$1" || :
    [[ $head == GGUF* && $head =~ clip\.(vision\.)?projector_type$'\x08'.($MTMD_KINDS) ]] || return 1
    local name=${BASH_REMATCH[2]}
    local length=${BASH_REMATCH[0]%"$name"}
    [ "$(printf '%d' "'${length: -1}")" = "${#name}" ]
}

# Whether one of a command's words is the vision file of such a kind.
wants_mtmd() {
    local word before=
    for word in "$@"; do
        case $before in -M | --mmproj) if is_mtmd_file "$word"; then return 0; fi ;; esac
        case $word in --mmproj=*) if is_mtmd_file "${word#*=}"; then return 0; fi ;; esac
        before=$word
    done
    return 1
}
