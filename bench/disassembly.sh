#!/usr/bin/env bash
# bench/disassembly.sh - how long `gpufl trace -e PcSampling` takes, its disassembly after the program included.
#   bench/disassembly.sh GPUFL[,OTHER...] COMMAND [ARG...]
# Needs an NVIDIA GPU and nvdisasm. The binaries take turns, three rounds; prints the seconds of each run.
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
IFS=, read -ra binaries <<<"$1"
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for round in 1 2 3; do
    for gpufl in "${binaries[@]}"; do
        rm -rf "${folder:?}/session"
        begin=$(date +%s%N)
        "$gpufl" trace -q -e PcSampling -o "$folder/session" -- "$@" >"$folder/output" 2>&1 || {
            cat "$folder/output" >&2
            exit 1
        }
        echo "$gpufl, round $round: $((($(date +%s%N) - begin) / 1000000)) ms"
    done
done
