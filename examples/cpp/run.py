#!/usr/bin/env python3
"""run.py GPUFL PROGRAM FOLDER SESSIONS SCOPES - runs a program of the guide and checks
its sessions. The program must end with 0, and its log must have that many sessions that ended cleanly, and that many
scopes. The last line printed says what ran."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

gpufl, program, folder, sessions, scopes = sys.argv[1:]
log = pathlib.Path(folder) / "log"
shutil.rmtree(log, ignore_errors=True)
subprocess.run([program], cwd=folder, env={**os.environ, "GPUFL_LOG_PATH": str(log)}, check=True)

said = subprocess.run([gpufl, "report", "--json", str(log)], check=True, stdout=subprocess.PIPE).stdout
report = json.loads(said)
found = {
    "sessions": len(report["sessions"]),
    "ended cleanly": sum(one["clean_end"] for one in report["sessions"]),
    "scopes": sum(one["calls"] for one in report["scopes"]),
}
wanted = {"sessions": int(sessions), "ended cleanly": int(sessions), "scopes": int(scopes)}
if found != wanted:
    sys.exit(f"{program}: found {found}, wanted {wanted}")
backends = sorted({one["backend"] for one in report["sessions"]})
print(f"{pathlib.Path(program).name} over backend {' and '.join(backends)}: exit 0, {sessions} session(s) ended "
      f"cleanly, {scopes} scope(s), {report['host']['samples']} host sample(s)")
