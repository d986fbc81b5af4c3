#!/usr/bin/env python3
"""scripts/check-style and scripts/commit-msg: each rule over a file or a commit that breaks it, and over one that does not.

    test_gates.py FOLDER_OF_THE_SCRIPTS
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(sys.argv[1])
PAGE = "# A page\n\nText.\n"
INDEX = "[a](a.md) [b](b.md) [7](adr/0007-seven.md) [walks](ARCHITECTURE.md)\n"
WALK = "# Architecture\n\n## Three walks\n\nA number:\n\n1. `x.c` `x`\n"
GOOD = {"docs/README.md": INDEX, "docs/a.md": PAGE, "docs/b.md": "[a heading](a.md#a-page), `src/x.c`, ADR 7\n",
        "docs/ARCHITECTURE.md": WALK, "docs/adr/0007-seven.md": PAGE, "src/x.c": "/* What x is: docs/a.md, x.c. */\nint x;\n\n/* Seven parameters: the library wants them. */\n"
        "void y(int a, int b, int c, int d, int e, int f, int g)\n{\n}\n",
        "src/x.h": "/* X. */\nint tried(void); /* for tests */\n",
        "bench/x.py": "# A thread ends.\n# It was heard.\nheartbeat = \"It's behind it: 'heard'\" % f.tell()  # behind\n\n\n"
        "def one(x):\n    x += 1\n    return x\n",
        "web/x.ts": "// A thread ends.\n// It was heard.\nconst shear = `${x} heard`; /* behind */\n",
        "bench/y.py": "import os.path\nimport sys  # noqa: F401\n\n__all__ = [\"sys\"]\nos.path.join(\"a\")\n",
        "README.md": "# The same\n\nReturns where it ends. See \"whoever it is\".\n"}
OVER = "x" * 101

# A file, its text, and what check-style prints about it.
BAD = (
    ("src/bad.c", "int x;\n", "src/bad.c:1: no comment that says what the file is"),
    ("src/bad.c", "/* X. */\nint f(void)\n{\n" + "    ;\n" * 61 + "}\n", "src/bad.c:3: function of 61 lines"),
    ("src/bad.h", "/* X. */\n" + "int y;\n" * 600, "src/bad.h:601: file of 601 lines"),
    ("bench/bad.cu", "// X.\n" + "int y;\n" * 600, "bench/bad.cu:601: file of 601 lines"),
    ("tests/bad.py", "x = 1\n" * 601, "tests/bad.py:601: file of 601 lines"),
    ("web/bad.tsx", "let x;\n" * 601, "web/bad.tsx:601: file of 601 lines"),
    ("src/bad.c", "/* X. */\n/* TO" + "DO: y */\n", "src/bad.c:2: unfinished mark"),
    ("docs/a.md", "See /ho" + "me/me/x.\n", "docs/a.md:1: absolute path of somebody's machine"),
    ("examples/bad.cu", f"/* X. */\n/* {OVER} */\n", "examples/bad.cu:2: comment of 107 letters"),
    ("examples/bad.cu", f"/* X,\n{OVER} */\n", "examples/bad.cu:2: comment of 104 letters"),
    ("left/a.log", "x\n", "left/a.log:1: the project has no folder left"),
    ("README.md", "Nothing is to " + "be had.\n", "README.md:1: \"to be had\": write: available"),
    ("README.md", "All but " + "for one.\n", "README.md:1: \"but for\": write: except"),
    ("README.md", "CUPTI is let " + "go of.\n", "README.md:1: \"let go of\": write: detach"),
    ("README.md", "It ends behind " + "the window.\n", "README.md:1: \"behind the window\": write: after"),
    ("README.md", "Rows are read behind " + "them.\n", "README.md:1: \"read behind\": write: after"),
    ("README.md", "The sink is " + "told why.\n", "README.md:1: \"sink is told\": write: gets, is reported to"),
    ("README.md", "It tells " + "the server.\n", "README.md:1: \"tells the server\": write: report to"),
    ("README.md", "The log does " + "not tell.\n", "README.md:1: \"log does not tell\": write: is unknown"),
    ("README.md", "As far as CUPTI " + "tells.\n", "README.md:1: \"As far as CUPTI tells\": write: as far as … reports"),
    ("README.md", "They are told " + "apart.\n", "README.md:1: \"told apart\": write: is distinguished"),
    ("README.md", "One. Of " + "two threads one waits.\n", "README.md:1: \"Of two\": write: a sentence that begins"),
    ("README.md", "False: it is " + "none.\n", "README.md:1: \"it is none\": write: is not one"),
    ("README.md", "It cannot " + "be had.\n", "README.md:1: \"cannot be had\": write: is available"),
    ("README.md", "It ends for " + "want of room.\n", "README.md:1: \"for want of\": write: for lack of"),
    ("README.md", "It is put " + "apart.\n", "README.md:1: \"put apart\": write: set aside"),
    ("README.md", "One pool " + "mends all.\n", "README.md:1: \"mends\": write: fix"),
    ("README.md", "A refusal " + "costs a sentence.\n", "README.md:1: \"costs a sentence\": write: is reported"),
    ("README.md", "A full table " + "answers NULL.\n", "README.md:1: \"answers NULL\": write: returns"),
    ("examples/bad.cpp", "/* As" + " x_put, faster. */\n", "examples/bad.cpp:1: \"/* As x_put\": write: Like"),
    ("README.md", "It runs beside " + "other threads.\n", "README.md:1: \"beside other threads\": write: concurrently"),
    ("README.md", "It looks in va" + "in.\n", "README.md:1: \"in vain\": write: without success"),
    ("README.md", "It is shown unless to" + "ld otherwise.\n", "README.md:1: \"unless told otherwise\": write: by default"),
    ("README.md", "It names the line beh" + "ind idle time.\n", "README.md:1: \"line behind idle\": write: after"),
    ("README.md", "It begins " + "anew.\n", "README.md:1: \"anew\": write: again"),
    ("README.md", "NULL where " + "it is unknown.\n", "README.md:1: \"NULL where\": write: True if"),
    ("README.md", "Lines are passed " + "over.\n", "README.md:1: \"passed over\": write: skipped"),
    ("examples/bad.cu", "/* X. */\nint a_to" + "ld;\n", "examples/bad.cu:2: name a_told: write: reported"),
    ("examples/bad.cu", "/* X. */\n#define LET" + "_GO 1\n", "examples/bad.cu:2: name LET_GO: write: detach"),
    ("README.md", "It was hand" + "ed over.\n", "README.md:1: \"handed over\": write: delivered"),
    ("README.md", "It is kept " + "aside.\n", "README.md:1: \"kept aside\": write: set aside"),
    ("README.md", "It tells " + "of a loss.\n", "README.md:1: \"tells of\": write: reports"),
    ("README.md", "The id, or none " + "where it is gone.\n", "README.md:1: \"none where\": write: none if"),
    ("README.md", "Fails " + "where it is gone.\n", "README.md:1: \"Fails where\": write: if"),
    ("README.md", "Returns no id " + "where it is gone.\n", "README.md:1: \"Returns no id where\": write: if"),
    ("README.md", "It ends, which " + "is said.\n", "README.md:1: \"which is said\": write: which the report says"),
    ("README.md", "Threads come " + "and go.\n", "README.md:1: \"come and go\": write: begin and end"),
    ("README.md", "Who" + "ever asks, \"a\" comes.\n", "README.md:1: \"Whoever\": write: a client that"),
    ("web/bad.ts", "// All but " + "for one.\n", "web/bad.ts:1: \"but for\": write: except"),
    ("web/bad.mjs", "/** Of " + "two one. */\n", "web/bad.mjs:1: \"/** Of\": write: a sentence that begins"),
    ("web/bad.tsx", "let x;\n// It" + " ends.\n", "web/bad.tsx:2: \"// It\": write: a sentence that names"),
    ("deploy/bad.sh", "x=1\n  # They" + " end.\n", "deploy/bad.sh:2: \"# They\": write: a sentence that names"),
    ("tests/bad.ptx", "// Begins " + "anew.\n", "tests/bad.ptx:1: \"anew\": write: again"),
    ("bench/bad.py", "x = 1\n# And" + " ends.\n", "bench/bad.py:2: \"# And\": write: a sentence that begins"),
    ("bench/bad.py", "\"\"\"Of" + " two one.\"\"\"\n", "bench/bad.py:1: \"\"\"\"Of\": write: a sentence that names"),
    ("bench/bad.py", "def a_to" + "ld():\n    return 0\n", "bench/bad.py:1: name a_told: write: reported"),
    ("bench/bad.py", "\"\"\"X.\n\"\"\"\nx = f\"y {hea" + "rd}\"\n", "bench/bad.py:3: name heard: write: receive"),
    ("web/bad.ts", "const it_hea" + "rs = 1;\n", "web/bad.ts:1: name it_hears: write: receive"),
    ("scripts/bad", "#!/usr/bin/env python3\nBE" + "HIND = 1\n", "scripts/bad:2: name BEHIND: write: after"),
    ("bench/bad.py", "besi" + "de = 1\n", "bench/bad.py:1: name beside: write: concurrent"),
    ("web/bad.ts", "const isTo" + "ld = 1;\n", "web/bad.ts:1: name isTold: write: reported"),
    ("web/bad.tsx", "/* X.\n */\nthis.#te" + "ll(1);\n", "web/bad.tsx:3: name tell: write: reported"),
    ("bench/bad.mjs", "const x = `y ${let" + "Go(1)}`;\n", "bench/bad.mjs:1: name letGo: write: detach"),
    ("bench/bad.py", "import os\n", "bench/bad.py:1: unused import of os"),
    ("bench/bad.py", "import os\nfrom os import path as p, sep\n\nos.stat(sep)\n", "bench/bad.py:2: unused import of p"),
    ("bench/bad.py", "import os.path\nimport os\n\nos.stat(1)\n", "bench/bad.py:1: unused import of os.path"),
    ("scripts/bad", "#!/usr/bin/env python3\nimport os\n", "scripts/bad:2: unused import of os"),
    ("bench/bad.py", "def f():\n    f()\n\n\ndef f():\n    f()\n", "bench/bad.py:5: f is defined in line 1, too"),
    ("bench/bad.py", "class A:\n    def f(self):\n        pass\n\n    def f(self):\n        pass\n", "bench/bad.py:5: f is defined"),
    ("bench/bad.py", "def two(x):\n    x += 1\n    return x\n", "bench/x.py:6: one is a copy of two in bench/bad.py"),
    ("examples/bad.cpp", "/* Of " + "two one. */\n", "examples/bad.cpp:1: \"/* Of\": write: a sentence"),
    ("examples/bad.cpp", "/* It" + " closes. */\n", "examples/bad.cpp:1: \"/* It\": write: a sentence that names"),
    ("docs/a.md", "[c](c.md)\n", "docs/a.md:1: link to c.md, which does not exist"),
    ("docs/a.md", "[c](b.md#no)\n", "docs/a.md:1: link to b.md#no: no such heading"),
    ("docs/a.md", "A rule lies in `src/gone/`.\n", "docs/a.md:1: folder src/gone/ does not exist"),
    ("docs/a.md", "`src/gone.h` says.\n", "docs/a.md:1: src/gone.h does not exist"),
    ("src/bad.c", "/* As docs/gone.md says. */\n", "src/bad.c:1: docs/gone.md does not exist"),
    ("src/bad.c", "/* Why: ADR 8. */\n", "src/bad.c:1: ADR 8 does not exist"),
    ("src/bad.c", "/* Why: ADR 7, 9. */\n", "src/bad.c:1: ADR 9 does not exist"),
    ("src/bad.h", "/* X. */\nint unused(int x);\n", "src/bad.h:2: nothing calls unused: remove it, or say"),
    ("src/bad.c", "/* X. */\nint f(void)\n{\n    int code = f();\n}\n", "src/bad.c:4: \"int code = f();\": write: int rc"),
    ("bench/bad.c", "/* X. */\nint f(void)\n{\n    int ret = f();\n}\n", "bench/bad.c:4: \"int ret = f();\": write: int rc"),
    ("src/bad.c", "/* X. */\nvoid f(void)\n{\nfail:\n    ;\n}\n", "src/bad.c:4: \"fail:\": write: one exit: done"),
    ("src/bad.c", "/* X. */\nvoid f(void)\n{\n    err_set(e, GPUFL_E_NOMEM, \"no memory for x\");\n}\n",
     "src/bad.c:4: \"err_set(e, GPUFL_E_NOMEM, \"no memory for x\"\": write: err_nomem"),
    ("tests/bad.c", "/* X. */\nvoid f(void)\n{\n    err_set(&e, GPUFL_E_NOMEM, \"not enough memory to hash\");\n}\n",
     "tests/bad.c:4: \"err_set(&e, GPUFL_E_NOMEM, \"not enough memory to hash\"\": write: err_nomem"),
    ("src/bad.c", "/* X. */\nchar *x = \"The server is out of memory.\";\n", "src/bad.c:2: \"\"The server is out of memory.\"\": write: http"),
    ("src/bad.c", "/* X. */\nchar *x = \"a kernel besi" + "de it\";\n", "src/bad.c:2: \"\"a kernel beside it\"\": write: while"),
    ("src/bad.c", "/* X.\n * A runs besi" + "de b. */\n", "src/bad.c:2: \"* A runs beside\": write: while … runs"),
    ("web/src/bad.ts", "let x; // besi" + "de it\n", "web/src/bad.ts:1: \"let x; // beside\": write: while … runs"),
    ("docs/a.md", "It runs besi" + "de a kernel.\n", "docs/a.md:1: \"beside\": write: while … runs"),
    ("docs/a.md", "It is null whe" + "re it failed.\n", "docs/a.md:1: \"null where\": write: if"),
    ("src/bad.c", "/* X. */\nchar *x = \"used whe" + "re no file is\";\n", "src/bad.c:2: \"where no\": write: if"),
    ("docs/a.md", "It costs so" + "me 2 %.\n", "docs/a.md:1: \"some 2\": write: about"),
    ("src/bad.c", "/* X. */\nchar *x = \"none" + ": no scope\";\n", "src/bad.c:2: \"\"none:\": write: The program"),
    ("src/backend/nvidia/bad.c", "/* X. */\n" + "static struct {\n    int x;\n} a;\nstatic const char *b;\n" * 14 +
     "static int *const c = 0;\nstatic const int d[] = {1};\nstatic __thread int e;\n_Atomic int f = 1;\nstatic int g(void);\n",
     "src/backend/nvidia/: 30 variables of files (at most 29); most of them in src/backend/nvidia/bad.c"),
    ("tests/unit/test_bad.c", "/* X. */\nint x = cmocka_run_group_tests_name(\"bad\", t, 0, 0);\n",
     "tests/unit/test_bad.c:2: \"cmocka_run_group_tests_name(\"\": write: cmocka_run_group_tests"),
    ("src/bad.c", "/* X. */\nvoid f(int a, int (*b)(int, int), int c, int d, int e,\n       int f, int g)\n{\n}\n",
     "src/bad.c:2: f has 7 parameters (at most 6)"),
    ("docs/man/bad.1", "x" * 81 + "\n", "docs/man/bad.1:1: line of 81 bytes (at most 80)"),
    ("docs/a.md", "| " + "x" * 500 + " |\n", "docs/a.md:1: cell of 502 letters (at most 500)"),
    ("CHANGELOG.md", "x" * 251 + "\n", "CHANGELOG.md:1: entry of 251 letters (at most 250)"),
    ("docs/ARCHITECTURE.md", WALK.replace("`x`", "`gone`"), "docs/ARCHITECTURE.md: no file of its walk has gone"),
    ("docs/c.md", PAGE, "docs/README.md: c.md is missing"),
)

# A message, a file that the commit touches, and what commit-msg prints; "": nothing.
MESSAGES = (
    ("docs: a page", "docs/a.md", ""),
    ("base: a ring\n\nIt was a list.", "src/x.c", ""),
    ("base, wire: a ring\n\nIt was a list.\n\nReviewed-by: x", "src/x.c", ""),
    ("a page", "docs/a.md", "the subject is not \"module: what\""),
    ("docs: " + "x" * 67, "docs/a.md", "the subject has 73 letters (at most 72)"),
    ("docs: a page.", "docs/a.md", "the subject ends with a full stop"),
    ("docs: a page\nof two lines", "docs/a.md", "the line after the subject is not empty"),
    ("base: a ring", "src/x.c", "it touches src/ and has no body: say why"),
    ("base: a ring\n\nReviewed-by: x", "src/x.c", "it touches src/ and has no body: say why"),
    ("fixup! base: a ring\n\nx", "src/x.c", "the subject is not \"module: what\""),
)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


def check(ok, *what):
    if not ok:
        print("test_gates:", *what)
        sys.exit(1)


def test_style(folder):
    """The good tree is clean; each bad file is named with its line, and nothing else is."""
    write(folder, GOOD)
    done = run(SCRIPTS / "check-style", folder)
    check(done.returncode == 0 and not done.stderr, "a clean tree:", done.stderr)
    for name, text, said in BAD:
        write(folder, {name: text})
        done = run(SCRIPTS / "check-style", folder)
        check(done.returncode == 1 and said in done.stderr, name, repr(text[:60]), "said:", done.stderr)
        check(len(done.stderr.splitlines()) == 1 or name == "docs/a.md", "more than one error:", done.stderr)
        (folder / name).unlink()
        write(folder, GOOD)


def git(folder, *arguments):
    done = run("git", "-C", folder, "-c", "user.name=n", "-c", "user.email=n@n", "-c", "commit.gpgsign=false",
               "-c", "core.hooksPath=/dev/null", *arguments)
    check(done.returncode == 0, arguments, done.stderr)
    return done.stdout.strip()


def test_pages(folder):
    """A page of results is added, and then neither changed nor removed. Commits from before the rule are not refused."""
    page = "bench/results/2026-01-01-a.md"
    write(folder, {"scripts/x": "", page: "1\n", "bench/results/README.md": "1\n"})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Whatever was before the rule.")
    base = git(folder, "rev-parse", "HEAD")
    shutil.copy(SCRIPTS / "commit-msg", folder / "scripts")
    steps = (({page: "2\n"}, False, "the rule and a page"), ({"bench/results/README.md": "2\n"}, False, "the index"),
             ({"bench/results/b.md": "1\n"}, False, "another page"), ({"bench/results/b.md": "2\n"}, True, "a change"),
             (None, True, "a removal"))
    for files, refused, what in steps:
        if files is None:
            (folder / page).unlink()
        else:
            write(folder, files)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "bench: a page")
        done = run(folder / "scripts" / "commit-msg", "--since", base)
        check(done.returncode == refused, what, "said:", done.stderr, done.stdout)
        check(not refused or "a new run, or a correction, is a new page" in done.stderr, what, "said:", done.stderr)
        base = git(folder, "rev-parse", "HEAD")


def test_commits(folder):
    """Messages of a range, merges and missing history, in a repository of its own with a copy of the script."""
    write(folder, {"scripts/x": ""})
    shutil.copy(SCRIPTS / "commit-msg", folder / "scripts")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Whatever was before the rule.")
    for number, (message, path, said) in enumerate(MESSAGES):
        base = git(folder, "rev-parse", "HEAD")
        write(folder, {path: f"{number}\n"})
        git(folder, "add", ".")
        (folder / "message").write_text(message + "\n# a comment\n")
        hook = run(folder / "scripts" / "commit-msg", folder / "message")
        git(folder, "commit", "-q", "--cleanup=verbatim", "-m", message, "--", path)
        done = run(folder / "scripts" / "commit-msg", "--since", base)
        check(done.returncode == bool(said) and said in done.stderr, message, "said:", done.stderr, done.stdout)
        hooked = "" if message.startswith("fixup!") else said
        check(hook.returncode == bool(hooked) and hooked in hook.stderr, "the hook:", message, "said:", hook.stderr)
    done = run(folder / "scripts" / "commit-msg", "--since", "0" * 40)
    check(done.returncode == 0 and "not checked" in done.stdout, "an unknown base:", done)
    shutil.rmtree(folder / ".git")
    done = run(folder / "scripts" / "commit-msg", "--since", base)
    check(done.returncode == 0 and "not checked" in done.stdout, "no repository:", done)
    check(run(folder / "scripts" / "commit-msg").returncode == 2, "no argument is bad usage")


def main():
    for test in (test_style, test_pages, test_commits):
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name))
    print(f"test_gates: {len(BAD)} rules of style, {len(MESSAGES)} messages")


main()
