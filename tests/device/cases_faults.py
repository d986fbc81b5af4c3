"""Unwanted situations: code that is damaged, huge or of very many kernels, an nvdisasm that is missing or
fails, sessions that begin late, kernels that fault where the engine changes."""
import glob
import json
import os
import pathlib
import shutil
import subprocess

import counts
import modules
from cases_engines import BROUGHT, ran_or_said_why_not
from lab import NO_NVDISASM, Skipped, case, expect, ledger_closes, nobody_takes_code_apart

NO_JIT_CACHE = {"CUDA_CACHE_DISABLE": "1"}


def bare(lab, *arguments, code=0):
    """Runs device_modules by itself: what it printed."""
    done = subprocess.run([lab.bin / "device_modules", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          cwd=lab.work, env={**os.environ, **NO_JIT_CACHE})
    expect(done.returncode == code, f"by itself: exit code {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def compiled(lab, name, text):
    (lab.work / f"{name}.ptx").write_text(text)
    bare(lab, "compile", f"{name}.ptx", f"{name}.cubin")
    return lab.work / f"{name}.cubin"


def traced(lab, *arguments, engine, options=(), code=0, program="device_modules", env=None):
    """Runs a program traced: what it printed, and the session's report as JSON; no code is disassembled."""
    out, _, report = lab.trace(lab.bin / program, *arguments, options=("--no-report", "-e", engine, *options), code=code,
                               env={**NO_NVDISASM, **NO_JIT_CACHE, **(env or {})})
    expect(report is not None, f"{engine}: no session")
    return json.loads(out), report


def settings_of(report, engine):
    return {s["name"]: s["value"] for s in report["settings"] if s["engine"] == engine}


def runs(report, engine):
    ran = settings_of(report, engine)
    if ran.get("ran_as") != engine:
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return ran


def messages(report, code):
    return [m["text"] for m in report["messages"] if m["code"] == code]


# ---- very many kernels ----

MODULES, KERNELS, SECONDS = 50, 2000, 4  # 100 000 kernels, each launched once, or what loads in the time


def many(lab, engine, options=()):
    (lab.work / "many.ptx").exists() or compiled(lab, "many", modules.many("q000", KERNELS))
    said, report = traced(lab, "many", "many.cubin", "q000", MODULES, KERNELS, SECONDS, engine=engine, options=options)
    name = " ".join((engine, *options[1:]))
    print(f"      {name}: {said}; not kept: {messages(report, 'code.not_kept')}", flush=True)
    expect(said["ran"] == said["kernels"], f"{name}: {said['ran']} kernels ran, {said['kernels']} were launched")
    expect(said["modules"] >= MODULES / 10, f"{name}: {said['modules']} modules in {SECONDS} s")
    expect(report["ledger"]["launches"] == said["kernels"],
           f"{name}: {report['ledger']['launches']} launches counted of {said['kernels']}")
    return said, report


def every_name_is_there(report, said):
    ledger_closes(report, said["kernels"])
    names = {k["symbol"]: k["count"] for k in report["kernels"]["by_name"] if k["symbol"].startswith("q")}
    want = {f"q{m:03}{k:05}" for m in range(said["modules"]) for k in range(KERNELS)}
    lacking = sorted(want - set(names))
    expect(not lacking and set(names) == want, f"{len(names)} names of {len(want)}; without {lacking[:3]}, "
           f"without {sorted(set(names) - want)[:3]}")
    expect(set(names.values()) == {1}, "kernels that ran more than once")


@case
def distinct_kernels_100000(lab):
    said, report = many(lab, "Trace")
    every_name_is_there(report, said)


@case
def distinct_kernels_100000_sampled(lab):
    for collect in ("all", "none"):
        said, report = many(lab, "PcSampling", ("--pc-kernels", collect))
        runs(report, "PcSampling")
        ledger = report["ledger"]
        expect(ledger["samples_lost"] == 0, f"{collect}: samples were lost: {ledger}")
        found = {g["symbol"] for g in report["samples"]["kernels"]}
        print(f"      {report['samples']['samples']} samples of {len(found)} functions", flush=True)
        strange = [s for s in found if s and s.startswith("q") and not s[1:].isdigit()]
        expect(not strange, f"samples of names that nobody launched: {strange[:5]}")
        if collect == "all":
            every_name_is_there(report, said)


# ---- huge code ----

def kept(lab):
    return sorted((path.stat().st_size, path) for path in (lab.work / "out").rglob("*.cubin"))


@case
def a_huge_module(lab):
    """64 MiB are kept; beyond 128 they are not, which is reported, and the program is not affected."""
    small, sizes = compiled(lab, "huge", modules.with_data()).read_bytes(), {}
    for mib in (64, 1024):
        (lab.work / f"huge{mib}").write_bytes(modules.enlarged(small, mib))
        sizes[mib] = (lab.work / f"huge{mib}").stat().st_size
    want = bare(lab, "run", "huge1024", "huge", 20)
    if want["load"]:
        raise Skipped(f"the driver does not load a module of 1 GiB: error {want['load']}")
    for mib, engine in ((64, "PcSampling"), (1024, "PcSampling"), (1024, "SassMetrics")):
        said, report = traced(lab, "run", f"huge{mib}", "huge", 20, engine=engine)
        ran, not_kept, files = settings_of(report, engine), messages(report, "code.not_kept"), [n for n, _ in kept(lab)]
        print(f"      {mib} MiB, {engine}: ran as {ran.get('ran_as')}, {not_kept}, kept {files}, at most "
              f"{report['host']['process_rss']['max'] / 1e6:.0f} MB resident", flush=True)
        expect(said == want, f"{mib} MiB, {engine}: it said {said}, by itself {want}")
        expect(report["ledger"]["launches"] == 20, f"{report['ledger']['launches']} launches of 20")
        if ran.get("ran_as") != engine:
            raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
        expect((mib > 128) == any("1 module too large" in text for text in not_kept), f"{mib} MiB, {engine}: reported {not_kept}")
        expect(not files or max(files) <= 128 << 20, f"kept: {files}")
        expect(mib > 128 or any(n >= mib << 20 for n in files), f"{mib} MiB are not kept: {files}, {not_kept}")


# ---- damaged code ----

@case
def a_program_that_loads_damaged_code(lab):
    """The program gets the driver's own error, with and without gpufl."""
    good, tried = compiled(lab, "once", modules.HEAD + modules.spinning("once", 20)), 0
    code = good.read_bytes()
    for what, bad in (*(modules.damaged(code) if code.startswith(b"\x7fELF") else ()), ("undamaged", code)):
        (lab.work / "code").write_bytes(bad)
        done = subprocess.run([lab.bin / "device_modules", "run", "code", "once", "10"], capture_output=True, text=True,
                              cwd=lab.work, timeout=60, env={**os.environ, **NO_JIT_CACHE})
        if done.returncode:
            print(f"      {what}: not tried, the program by itself ends with {done.returncode}", flush=True)
            continue
        want, tried = json.loads(done.stdout), tried + 1
        print(f"      {what}: {want}", flush=True)
        for engine in ("PcSampling", "SassMetrics"):
            said, report = traced(lab, "run", "code", "once", 10, engine=engine)
            expect(said == want, f"{what}, {engine}: it said {said}, by itself {want}")
            launches = report["ledger"]["launches"]
            expect(launches == want["kernels"] or (not want["kernels"] and launches is None),
                   f"{what}, {engine}: {launches} launches of {want['kernels']}")
            expect(report["session"]["end_reason"] == "exit", f"{what}, {engine}: {report['session']}")
    expect(want["load"] == 0 and want["kernels"] == 10, f"undamaged code: {want}")
    expect(tried > 2 or not code.startswith(b"\x7fELF"), "nothing that is damaged could be tried")


def session_with_code(lab, engine):
    """A session whose code has not been disassembled: a new copy of it each time, which may be disassembled."""
    command = (lab.bin / "device_stalls", "--ms", 20, "uncoalesced")
    with nobody_takes_code_apart():
        _, _, report = lab.trace(*command, options=("--no-report", "-e", engine))
    runs(report, engine)
    expect(kept(lab), f"{engine}: no code was kept: {messages(report, 'code.not_kept')}")
    (lab.work / engine).mkdir()
    (lab.work / "out").rename(lab.work / engine / "logs")

    def again():
        shutil.rmtree(lab.work / "out", ignore_errors=True)
        shutil.copytree(lab.work / engine / "logs", lab.work / "out")
        return lab.work / "out"
    return again


def without_nvdisasm(lab):
    """The beginning of a command for which nvdisasm is neither in PATH nor in a toolkit; None: not possible here."""
    folders = sorted({str(pathlib.Path(p).resolve().parent) for p in glob.glob("/usr/local/cuda*/bin/nvdisasm")})
    (lab.work / "empty").mkdir(exist_ok=True)
    mounts = "".join(f"mount --bind '{lab.work / 'empty'}' '{folder}' && " for folder in folders)
    prefix = (*(("unshare", "-m") if folders else ()), "/bin/sh", "-c", mounts + 'PATH=/nowhere exec "$@"', "sh")
    if folders and not shutil.which("unshare"):
        return None
    return None if subprocess.run([*prefix, "/bin/true"], capture_output=True).returncode else prefix


def report_of_kernel(lab, path, env, engine, prefix=(), kernel="uncoalesced"):
    """Makes the report as text and as JSON: the exit codes are 0, and what was sampled or counted is there. JSON's
    code, and the text."""
    command = [*prefix, lab.gpufl, "report", "--kernel", kernel]
    environment = {**{k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}, **env}
    text = subprocess.run([*command, path], capture_output=True, text=True, env=environment, timeout=90)
    done = subprocess.run([*command, "--json", path], capture_output=True, text=True, env=environment, timeout=90)
    expect((text.returncode, done.returncode) == (0, 0), f"exit codes {text.returncode}, {done.returncode}: "
           f"{text.stderr[-300:]}{done.stderr[-300:]}")
    code = json.loads(done.stdout)["code"]
    expect(code and code[0]["instructions"], f"nothing of the kernel: {code}")
    measured = sum(i["samples"] if engine == "PcSampling" else i.get(counts.INST) or 0
                   for c in code for i in c["instructions"])
    expect(measured > 0, f"no samples and no counts: {code[0]['instructions'][:3]}")
    return code, " ".join(text.stdout.split())


def says_why(lab, engine, what, path, env, why, prefix=()):
    code, text = report_of_kernel(lab, path, env, engine, prefix)
    reasons = [c["no_text"] or "" for c in code]
    print(f"      {engine}, {what}: {reasons[0]}", flush=True)
    expect(any(why in t for t in reasons), f"{engine}, {what}: '{why}' is not reported: {reasons}")
    expect(why in text, f"{engine}, {what}: '{why}' is not in the text: {text[-600:]}")
    return code


def expect_lines(engine, what, code):
    """Checks that instructions have lines from the code's own table: nvdisasm reported none."""
    measured = [i for c in code for i in c["instructions"]
                if (i["samples"] if engine == "PcSampling" else i.get(counts.INST))]
    lined = [i for i in measured if i["file"] and i["file"].endswith("stalls.cu") and i["line"]]
    print(f"      {engine}, {what}: {len(lined)} of {len(measured)} instructions have lines", flush=True)
    expect(len(lined) >= 0.9 * len(measured), f"{engine}, {what}: no lines: {measured[:2]}")


@case
def nvdisasm_is_missing_or_fails(lab):
    stubs = {"fails": ("echo 'nvdisasm fatal   : no' >&2; exit 1", "nvdisasm cannot read"),
             "prints rubbish": ("head -c 100000 /dev/urandom; echo; echo '.text.x: /*0000*/ }{'", "knows no instruction of"),
             "prints nothing": ("exit 0", "knows no instruction of"),
             "is killed": ("kill -9 $$", "nvdisasm was killed (signal 9)")}
    for engine in ("PcSampling", "SassMetrics"):
        again = session_with_code(lab, engine)
        expect_lines(engine, "not there", says_why(lab, engine, "not there", again(), NO_NVDISASM,
                                                   "/nowhere/nvdisasm cannot be run"))
        prefix = without_nvdisasm(lab)
        if prefix:
            says_why(lab, engine, "not found", again(), {"GPUFL_NVDISASM": ""}, "nvdisasm was not found", prefix)
        else:
            print("      nvdisasm is in /usr/local, and cannot be hidden here: not tried", flush=True)
        for what, (script, why) in stubs.items():
            stub = lab.work / "nvdisasm"
            stub.write_text(f"#!/bin/sh\n{script}\n")
            stub.chmod(0o755)
            expect_lines(engine, what, says_why(lab, engine, what, again(), {"GPUFL_NVDISASM": str(stub)}, why))


def flip(code):
    """Changes every 61st byte after the header."""
    out = bytearray(code)
    for i in range(64, len(out), 61):
        out[i] ^= 0xFF
    return bytes(out)


# The rows say what the file looks like, and what must be reported; None: that depends on nvdisasm.
DAMAGE = {
    "empty": (lambda code: b"", "nvdisasm cannot read"),
    "half": (lambda code: code[:len(code) // 2], "nvdisasm cannot read"),
    "no ELF": (lambda code: b"\0" * 64 + code[64:], "nvdisasm cannot read"),
    "headers of sections": (lambda code: code[:40] + b"\xff" * 8 + code[48:], None),
    "bytes flipped": (flip, None),
    "gone": (None, "is not in the session's directory any more"),
}


@case
def code_that_is_damaged_in_the_session(lab):
    if not nvdisasm_is_there():
        raise Skipped("nvdisasm is not there")
    for engine in ("PcSampling", "SassMetrics"):
        again = session_with_code(lab, engine)
        code, _ = report_of_kernel(lab, again(), {}, engine)
        expect(any(i["text"] for c in code for i in c["instructions"]), f"{engine}: undamaged code has no text")
        for what, (damage, why) in DAMAGE.items():
            path = again()
            for file in path.rglob("*.cubin"):
                file.write_bytes(damage(file.read_bytes())) if damage else file.unlink()
            # Counts have no number of a symbol, and the damaged code cannot give it either: any reason is right.
            if why and engine == "PcSampling":
                says_why(lab, engine, what, path, {}, why)
                continue
            code, text = report_of_kernel(lab, path, {}, engine)
            reasons = [c["no_text"] for c in code if c["no_text"]]
            print(f"      {engine}, {what}: {reasons[:1]}", flush=True)
            expect(reasons or any(i["text"] for c in code for i in c["instructions"]),
                   f"{engine}, {what}: neither instructions nor a reason: {text[-600:]}")
            expect(reasons or not why, f"{engine}, {what}: instructions of code that is not there")


def nvdisasm_is_there():
    return bool(shutil.which("nvdisasm") or glob.glob("/usr/local/cuda*/bin/nvdisasm"))


# ---- sessions that begin late ----

# The rows say what an engine lacks after the program's first use of the GPU, as the message engine.late says it; None: nothing.
LATE = {"Monitor": None, "Sync": None, "Trace": None, "RangeProfiler": None, "PcSampling": "is sampled",
        "SassMetrics": "kernels of graphs", "Deep": "sampled and counted", "PmSampling": "sampled only if its context is current"}


def begun_late(lab, engine, launches):
    """gpufl_init in a context in which kernels have run: the program is not affected, the session says what it
    lacks."""
    log = lab.work / engine
    done = subprocess.run([lab.bin / "device_modules", "late", "once.ptx", "once", engine, str(launches)],
                          capture_output=True, text=True, cwd=lab.work, timeout=60,
                          env={**os.environ, **NO_NVDISASM, "GPUFL_LOG_PATH": str(log), "GPUFL_DEEP_SAMPLE_MS": "300"})
    expect(done.returncode == 0, f"{engine}: exit code {done.returncode}: {done.stderr[-500:]}")
    said, report = json.loads(done.stdout), lab.report(log)
    expect(said["init"] == 0 and report is not None, f"{engine}: no session: {said} {done.stderr[-500:]}")
    print(f"      {engine}: {said}; {messages(report, 'engine.late')}", flush=True)
    expect(said["ran"] == said["before"] + said["kernels"], f"{engine}: {said['ran']} kernels ran: {said}")
    late = messages(report, "engine.late")
    expect(len(late) == (LATE[engine] is not None), f"{engine}: engine.late {late}")
    expect(not late or (LATE[engine] in late[0] and "what ran until then is not in this session" in late[0]), f"{late}")
    if engine in BROUGHT:
        ran_or_said_why_not(report, engine)
    if engine not in ("Monitor", "Sync"):
        expect(report["ledger"]["launches"] == launches, f"{engine}: {report['ledger']['launches']} launches of {launches}")
    if engine in ("Trace", "RangeProfiler", "PcSampling"):
        ledger_closes(report, launches)
    return report


@case
def engines_begun_late(lab):
    (lab.work / "once.ptx").write_text(modules.HEAD + modules.spinning("once", 500))
    for engine, launches in (("Monitor", 100), ("Sync", 100), ("Trace", 100), ("RangeProfiler", 100), ("PmSampling", 700)):
        report = begun_late(lab, engine, launches)
    scope = next(s for s in report["scopes"] if s["name"] == "late")
    expect(scope["kernels"] in (700, None), f"kernels in the scope: {scope}")


@case
def engines_of_code_begun_late(lab):
    (lab.work / "once.ptx").write_text(modules.HEAD + modules.spinning("once", 500))
    for engine, launches in (("PcSampling", 300), ("SassMetrics", 100), ("Deep", 300)):
        report = begun_late(lab, engine, launches)
        samples, counted = report["samples"]["samples"], report["instructions"]["rows"]
        print(f"        {samples} samples, {counted} rows of counts; {settings_of(report, engine)}", flush=True)
        ran = settings_of(report, engine)
        if ran.get("ran_as") == engine and not messages(report, "deep.sampled_only"):
            expect(engine == "SassMetrics" or samples > 0, f"{engine}: no samples, and nothing says why: {report['messages']}")
            expect(engine == "PcSampling" or counted > 0, f"{engine}: no counts, and nothing says why: {report['messages']}")
        elif engine == "Deep":
            reasons = [ran.get("why"), *messages(report, "deep.sampled_only")]
            expect(any(reasons), f"Deep ran as {ran.get('ran_as')}, and nothing says why")


# ---- faults ----

@case
def deep_and_a_fault(lab):
    """The kernel faults while Deep samples, and after Deep has begun to count."""
    ptx = lab.work / "faults.ptx"
    ptx.write_text(modules.HEAD + modules.spinning("once", 200) + modules.faulting())
    for sample_ms, ms in ((30000, 300), (100, 1500)):
        said, report = traced(lab, "fault", ptx, "once", ms, engine="Deep", code=3,
                              options=("--option", f"deep_sample_ms={sample_ms}"))
        ran, ledger = settings_of(report, "Deep"), report["ledger"]
        codes = [m["code"] for m in report["messages"]]
        print(f"      sampled for {ran.get('sampled_ms')} ms of {sample_ms}: {said}, {ledger['launches']} launches; {codes}",
              flush=True)
        expect(said["error"] == 700, f"the program's error: {said}")
        expect(report["session"]["end_reason"] == "exit", f"the end: {report['session']}")
        expect(any("ILLEGAL_ADDRESS" in text for text in messages(report, "program.fault")), f"the fault is not reported: {codes}")
        expect(ledger["launches"] == said["kernels"], f"{ledger['launches']} launches of {said['kernels']}")
        if ran.get("ran_as") not in ("Deep", "PcSampling"):  # the latter: it was over before anything was counted
            raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
        counting = "sampled_ms" in ran
        expect(counting == (sample_ms == 100), f"sampled for {ran.get('sampled_ms')} ms: {codes}")
        expect(counting or messages(report, "deep.sampled_only"), f"no counts, and nothing says why: {codes}")
        expect(report["samples"]["samples"] > 0 or counting, f"no samples of {ms} ms before the fault")
    lab.trace(lab.programs, "fault", code=3, options=("-e", "Deep", "--option", "deep_sample_ms=100"))
