#!/bin/bash
# gpufl-monitor on a real GPU, compared with `nvidia-smi dmon`, a loop over NVML in Python, and bench_nvml_loop (if it is in bin/).
# Usage: device.sh FOLDER      FOLDER has bin/ and lib/ of the build. Root, one GPU, python3 with torch. About 75 s.
# Lines begin with PASS, FAIL, or INFO; the last line counts them. Files: $OUT or a temporary folder.
set -u
base=$(cd "$1" && pwd); bin=$base/bin
out=${OUT:-$(mktemp -d)}/monitor; mkdir -p "$out"
export LD_LIBRARY_PATH=$base/lib:${LD_LIBRARY_PATH:-}
nvidia-smi --query-gpu=name,driver_version,uuid,memory.total,power.limit --format=csv | sed 's/^/INFO /'
run=/run/gpufl-monitor; logs=$out/logs; mkdir -p "$run" "$logs"

cat >"$out/load.py" <<'PY'
# idle 10 s, half busy 10 s, busy 10 s; phases are written with their times. "scope": 9 s of work in NVTX ranges.
import sys, time, torch
kind, path = sys.argv[1], sys.argv[2]
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
pad = torch.empty(4 << 30, dtype=torch.uint8, device="cuda").fill_(1)
def burst(seconds):
    until = time.time() + seconds
    while time.time() < until:
        for _ in range(4):
            torch.mm(a, a)
        torch.cuda.synchronize()
burst(0.5)
if kind == "scope":
    torch.cuda.nvtx.range_push("epoch"); torch.cuda.nvtx.range_push("train_step")
    burst(12)
    torch.cuda.nvtx.range_pop(); torch.cuda.nvtx.range_pop()
    sys.exit(0)
with open(path, "w") as f:
    def note(name):
        f.write(f"{name} {time.time()}\n"); f.flush()
    note("idle"); time.sleep(10)
    note("half")
    end = time.time() + 10
    while time.time() < end:
        burst(0.05); time.sleep(0.05)
    note("full"); burst(10)
    note("end")
PY

cat >"$out/nvml.py" <<'PY'
# Reads values of NVML once a second, with pynvml if it is installed, else with ctypes. Argument: the file.
import ctypes as C, json, sys, time
try:
    import pynvml as n
    n.nvmlInit(); d = n.nvmlDeviceGetHandleByIndex(0); how = "pynvml"
    def take():
        u = n.nvmlDeviceGetUtilizationRates(d)
        try: used = n.nvmlDeviceGetMemoryInfo(d, version=n.nvmlMemory_v2).used
        except Exception: used = n.nvmlDeviceGetMemoryInfo(d).used
        return dict(gpu_util=u.gpu, memory_used=used, temperature=n.nvmlDeviceGetTemperature(d, 0), power=n.nvmlDeviceGetPowerUsage(d),
                    clock_sm=n.nvmlDeviceGetClockInfo(d, 1), clock_mem=n.nvmlDeviceGetClockInfo(d, 2))
except ImportError:
    L = C.CDLL("libnvidia-ml.so.1"); how = "ctypes"
    L.nvmlInit_v2(); d = C.c_void_p(); L.nvmlDeviceGetHandleByIndex_v2(0, C.byref(d))
    class Use(C.Structure): _fields_ = [("gpu", C.c_uint), ("memory", C.c_uint)]
    class Mem(C.Structure): _fields_ = [("version", C.c_uint), ("total", C.c_ulonglong), ("reserved", C.c_ulonglong), ("free", C.c_ulonglong), ("used", C.c_ulonglong)]
    def one(f, *a):
        v = C.c_uint(); getattr(L, f)(d, *a, C.byref(v)); return v.value
    def take():
        u = Use(); L.nvmlDeviceGetUtilizationRates(d, C.byref(u))
        try:
            m = Mem(); m.version = C.sizeof(Mem) | 2 << 24; L.nvmlDeviceGetMemoryInfo_v2(d, C.byref(m))
        except AttributeError:
            class Old(C.Structure): _fields_ = [("total", C.c_ulonglong), ("free", C.c_ulonglong), ("used", C.c_ulonglong)]
            m = Old(); L.nvmlDeviceGetMemoryInfo(d, C.byref(m))
        return dict(gpu_util=u.gpu, memory_used=m.used, temperature=one("nvmlDeviceGetTemperature", 0), power=one("nvmlDeviceGetPowerUsage"),
                    clock_sm=one("nvmlDeviceGetClockInfo", 1), clock_mem=one("nvmlDeviceGetClockInfo", 2))
with open(sys.argv[1], "w") as f:
    f.write(json.dumps({"how": how}) + "\n")
    while True:
        f.write(json.dumps(dict(take(), at=time.time())) + "\n"); f.flush(); time.sleep(1)
PY

cat >"$out/cost.py" <<'PY'
# Processor time (ns) and memory (KiB) of a process: "cpu pss rss anon private"
import glob, sys
pid = sys.argv[1]
cpu = 0
for p in glob.glob(f"/proc/{pid}/task/*/schedstat"):
    cpu += int(open(p).read().split()[0])
if not cpu:
    x = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split(); cpu = (int(x[11]) + int(x[12])) * 10000000
m = {}
try:
    for line in open(f"/proc/{pid}/smaps_rollup"):
        k, *v = line.split()
        if len(v) == 2: m[k[:-1]] = int(v[0])
except OSError: pass
print(cpu, m.get("Pss", -1), m.get("Rss", -1), m.get("Anonymous", -1), m.get("Private_Clean", 0) + m.get("Private_Dirty", 0))
PY

"$bin/gpufl-monitor" --check --log-path "$logs" --run-dir "$run" && echo "PASS check" || echo "FAIL check: exit $?"
"$bin/gpufl-monitor" --log-path "$logs" --run-dir "$run" --listen 0 >"$out/monitor.out" 2>"$out/monitor.err" & mon=$!
for i in $(seq 100); do grep -q listening "$out/monitor.out" && break; sleep 0.1; done
bare=
if [ -x "$bin/bench_nvml_loop" ]; then "$bin/bench_nvml_loop" 1000 5000 & bare=$!; fi
nvidia-smi dmon -i 0 -s pucm -d 1 -o T >"$out/dmon.txt" 2>&1 & dmon=$!
python3 "$out/nvml.py" "$out/nvml.json" & loop=$!
cat >"$out/stamp.py" <<'PY'
import signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
signal.signal(signal.SIGTERM, lambda *_: p.terminate())
with open(sys.argv[1] + "/live.stamped", "w") as f, open(sys.argv[1] + "/live.json", "w") as g:
    for line in p.stdout:
        f.write(f"{time.time()} {line}"); f.flush(); g.write(line); g.flush()
PY
python3 "$out/stamp.py" "$out" "$bin/gpufl" monitor --json --run-dir "$run" 2>"$out/live.err" & live=$!
python3 "$out/load.py" phases "$out/phases" & load=$!
for i in $(seq 300); do [ -s "$out/phases" ] && break; sleep 0.1; done
for p in $mon $bare $loop; do echo "$p $(date +%s.%N) $(python3 "$out/cost.py" $p)"; done >"$out/cost0"
wait $load
for p in $mon $bare $loop; do echo "$p $(date +%s.%N) $(python3 "$out/cost.py" $p)"; done >"$out/cost1"
url=$(sed -n 's/.*listening on //p' "$out/monitor.out")
python3 - "$url" >"$out/metrics.txt" 2>&1 <<'PY'
import sys, time, urllib.request
t = []
for _ in range(5):
    a = time.monotonic(); text = urllib.request.urlopen(sys.argv[1] + "/metrics", timeout=5).read().decode(); t.append((time.monotonic() - a) * 1e3)
print(text); print("# ms", sorted(t)[2])
PY
python3 "$out/load.py" phases /dev/null >/dev/null 2>&1 & other=$!   # holds the GPU while the traced one runs
timeout 45 "$bin/gpufl" trace -o "$out/traced" python3 "$out/load.py" scope /dev/null >"$out/trace.out" 2>&1 & traced=$!
# waits until the monitor's output names the traced program, not for a fixed time
python3 - "$out/live.json" "$out/seen.json" <<'PY'
import json, sys, time
until, best = time.time() + 20, None
while time.time() < until:
    for line in open(sys.argv[1]):
        try: x = json.loads(line)
        except ValueError: continue
        for p in x["processes"]:
            if p.get("session") and p["name"].startswith("python") and (best is None or (p.get("scope") and not best.get("scope"))): best = p
    if best and best.get("scope"): break
    time.sleep(0.5)
json.dump(best, open(sys.argv[2], "w"))
PY
echo "INFO gpufl monitor --once:"; "$bin/gpufl" monitor --once --run-dir "$run" | sed 's/^/INFO   /'
kill $other 2>/dev/null; wait $traced; tail -3 "$out/trace.out" | sed 's/^/INFO trace: /'
kill $live $dmon $loop $bare 2>/dev/null
echo "INFO last line of --json: $(tail -1 "$out/live.json" | cut -c1-3000)"
kill -TERM $mon; wait $mon; code=$?
[ $code = 0 ] && echo "PASS the monitor ends with 0" || echo "FAIL the monitor ends with $code"
sed 's/^/INFO monitor: /' "$out/monitor.err" | head -5
"$bin/gpufl" report "$(ls -d "$logs"/*-* | head -1)" 2>&1 | head -60 >"$out/report.txt" && echo "INFO report: $(head -3 "$out/report.txt" | tr '\n' ' ')"

python3 - "$out" "$mon" "${bare:-0}" "$loop" <<'PY'
import datetime, json, statistics as st, sys
out, mon, bare, loop = sys.argv[1:5]
ok = bad = 0
def say(good, text):
    global ok, bad
    ok += bool(good); bad += not good
    print(("PASS " if good else "FAIL ") + text)
phases = [l.split() for l in open(out + "/phases")]
phases = [(a[0], float(a[1]), float(b[1])) for a, b in zip(phases, phases[1:])]
nv = [json.loads(l) for l in open(out + "/nvml.json")]
how, nv = nv[0]["how"], nv[1:]
series = {"nvml": [(r["at"], r) for r in nv]}
day = datetime.datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
dm, names = [], None
for line in open(out + "/dmon.txt"):
    w = line.split()
    if line.startswith("#"):
        if "gpu" in w: names = [x.lstrip("#") for x in w if x != "#"]
        continue
    if not names or len(w) < 4: continue
    row = dict(zip(names, w))
    clock = next((v for k, v in row.items() if k.lower() == "time"), w[0])
    h, m, s = clock.split(":"); at = day + int(h) * 3600 + int(m) * 60 + int(s)
    num = lambda k: float(row[k]) if row.get(k, "-") not in ("-", "N/A") else None
    dm.append((at + 0.5, dict(gpu_util=num("sm"), power=(num("pwr") or 0) * 1000, temperature=num("gtemp"), clock_sm=num("pclk"), clock_mem=num("mclk"), memory_used=(num("fb") or 0) * 1048576)))
series["dmon"] = dm
mine = []
for line in open(out + "/live.stamped"):
    at, _, body = line.partition(" ")
    try: x = json.loads(body)
    except ValueError: continue
    if x["gpus"]: mine.append((float(at) - x.get("age_ms", 0) / 1e3, x["gpus"][0]["metrics"]))
def med(rows, a, b, key):
    v = [r[key] for at, r in rows if a + 3 <= at <= b - 1 and r.get(key) is not None]
    return (st.median(v), len(v)) if v else (None, 0)
limits = {"gpu_util": (12, 0, "points"), "power": (8000, 0.06, "mW"), "temperature": (2, 0, "C"), "clock_sm": (45, 0.03, "MHz"), "clock_mem": (30, 0, "MHz"), "memory_used": (64 << 20, 0, "bytes")}
for phase, a, b in phases:
    for key, (flat, share, unit) in limits.items():
        m, n = med(mine, a, b, key)
        for other in ("nvml", "dmon"):
            o, k = med(series[other], a, b, key)
            if m is None or o is None:
                say(False, f"{phase} {key}: monitor {m} ({n}), {other} {o} ({k})"); continue
            most = max(flat, share * o)
            if phase == "half" and key in ("power", "clock_sm"): most *= 3   # both values change within the second
            say(abs(m - o) <= most, f"{phase} {key}: monitor {m:g}, {how if other == 'nvml' else other} {o:g}, at most {most:g} {unit} apart; {n} and {k} samples")
want = {"idle": (0, 5), "half": (30, 90), "full": (95, 100)}
for phase, a, b in phases:
    m, n = med(mine, a, b, "gpu_util"); lo, hi = want[phase]
    say(m is not None and lo <= m <= hi, f"{phase}: use {m} within {lo} to {hi} %")
    act, n = med(mine, a, b, "sm_active")
    print(f"INFO {phase}: sm_active {act} (% x 100), tensor {med(mine, a, b, 'tensor_active')[0]}, dram {med(mine, a, b, 'dram_active')[0]}, {n} values")
for phase, a, b in phases:                      # compares the energy counter with the integral of power
    part = [(t, r) for t, r in mine if a <= t <= b and r.get("energy") is not None]
    if len(part) > 3:
        e = (part[-1][1]["energy"] - part[0][1]["energy"]) / 1e3
        i = sum((y[0] - x[0]) * (x[1]["power"] + y[1]["power"]) / 2e3 for x, y in zip(part, part[1:]))
        say(abs(e - i) <= 0.12 * e, f"{phase}: energy counter {e:.0f} J, integral of power {i:.0f} J, at most 12 % apart")
seen = json.load(open(out + "/seen.json"))
say(seen and seen.get("session"), f"the traced process is shown with its session: {json.dumps(seen)}")
say(seen and seen.get("scope") in ("train_step", "epoch"), "its innermost scope is shown (builds before the scope's socket: FAIL)")
listed = [p for l in open(out + "/live.stamped") for p in json.loads(l.partition(" ")[2])["processes"]] if mine else []
say(any(p["name"].startswith("python") and (p.get("memory_used") or 0) > 4 << 30 for p in listed), f"torch's process is listed with more than 4 GiB; {len(listed)} rows")
say(any((p.get("sm_util") or 0) > 50 for p in listed), "a process has a use of more than 50 %")
c = {}
for f in ("cost0", "cost1"):
    for line in open(f"{out}/{f}"):
        pid, at, *v = line.split(); c.setdefault(pid, []).append((float(at), [int(x) for x in v]))
def cost(pid):
    (a, x), (b, y) = c[pid]; return (y[0] - x[0]) / (b - a) / 1e7, y[1:]
c = {k: v for k, v in c.items() if len(v) == 2 and all(len(x[1]) == 5 for x in v)}
m_cpu, m_mem = cost(mon); l_cpu, l_mem = cost(loop)
print(f"INFO monitor: {m_cpu:.3f} % of a core; PSS {m_mem[0]} KiB, RSS {m_mem[1]}, anonymous {m_mem[2]}, private {m_mem[3]}")
print(f"INFO {how} loop: {l_cpu:.3f} % of a core; PSS {l_mem[0]} KiB, RSS {l_mem[1]}, anonymous {l_mem[2]}, private {l_mem[3]}")
if bare in c:
    b_cpu, b_mem = cost(bare)
    print(f"INFO bare loop: {b_cpu:.3f} % of a core; PSS {b_mem[0]} KiB, RSS {b_mem[1]}, anonymous {b_mem[2]}, private {b_mem[3]}")
    say(m_cpu - b_cpu <= 0.1, f"monitor above the bare loop: {m_cpu - b_cpu:+.3f} % of a core, at most 0.1")
    say(m_mem[0] - b_mem[0] <= 4096, f"monitor above the bare loop: PSS {m_mem[0] - b_mem[0]:+d} KiB, at most 4096; RSS {m_mem[1] - b_mem[1]:+d}")
t = open(out + "/metrics.txt").read(); ms = t.rsplit("# ms", 1)
say(len(ms) == 2 and float(ms[1]) < 10, f"/metrics in {ms[-1].strip()[:80]} ms, less than 10")
gaps = [y[0] - x[0] for x, y in zip(mine, mine[1:])]
say(gaps and max(gaps) < 2.5, f"lines of --json: {len(mine)}, longest pause {max(gaps or [0]):.2f} s, less than 2.5")
print(f"RESULT {ok} PASS, {bad} FAIL; files in {out}")
PY
rm -rf "$out/traced"
