#!/usr/bin/env bash
# bench/report.sh - `gpufl report` over large sessions: seconds, processor time and peak memory.
#   bench/report.sh [KERNELS]     default 10 million; the sessions are kept under build/bench
# The first session is a simulated one, of two devices and four streams; the second one (bench/report) has stacks of
# launches, samples of two threads and waits as well.
set -euo pipefail
cd "$(dirname "$0")/.."
kernels=${1:-10000000}
simulated=build/bench/sim-$kernels
sampled=build/bench/sampled-$kernels
mkdir -p build/bench
if [ ! -d "$simulated" ]; then
    echo "generating $kernels kernels ..." >&2
    build/bin/gpufl sim --kernels "$kernels" --devices 2 --streams 4 --rate max --seed 1 -o "$simulated" >"$simulated.json.part" || {
        rm -rf "$simulated"
        exit 1
    }
    mv "$simulated.json.part" "$simulated/generated.json"
fi
if [ ! -d "$sampled" ]; then
    rm -rf "$sampled.part"
    build/bin/bench_sampled "$sampled.part" "$kernels"
    mv "$sampled.part" "$sampled"
fi
for session in "$simulated" "$sampled"; do
    for run in 1 2 3; do
        /usr/bin/time -f "$(basename "$session"), run $run: %e s, %U + %S s of processor, %M KiB peak" build/bin/gpufl report "$session" >/dev/null
    done
done
