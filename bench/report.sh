#!/usr/bin/env bash
# bench_report - `gpufl report` over a large simulated session: seconds, processor time and peak memory.
#   bench/report.sh [KERNELS]     default 10 million; the session is kept under build/bench
set -euo pipefail
cd "$(dirname "$0")/.."
kernels=${1:-10000000}
session=build/bench/sim-$kernels
if [ ! -d "$session" ]; then
    echo "generating $kernels kernels ..." >&2
    build/bin/gpufl sim --kernels "$kernels" --devices 2 --streams 4 --rate max --seed 1 -o "$session" >"$session.json.part" || {
        rm -rf "$session"
        exit 1
    }
    mv "$session.json.part" "$session/generated.json"
fi
for run in 1 2 3; do
    /usr/bin/time -f "run $run: %e s, %U + %S s of processor, %M KiB peak" build/bin/gpufl report "$session" >/dev/null
done
