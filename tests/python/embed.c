/* embed.c - runs the reader in a program that embeds an interpreter.
 *
 * Usage: embed libpython3.x.so harness.so
 * The library is opened outside of the global scope, as plugins do; the interpreter is
 * started, used with and without a subinterpreter, finalized and started again. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *python, *harness;
static int (*harness_find)(void);
static const char *(*harness_status)(void);
static int (*harness_stack)(char *, int, int);
static char text[65536];

static void check(bool good, const char *what)
{
    if (good)
        return;
    printf("failed: %s (%s)\n", what, harness_status ? harness_status() : "");
    exit(1);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    check(found != NULL, name);
    return found;
}

/* PyMethodDef, part of the stable ABI. */
struct method {
    const char *name;
    void *(*function)(void *, void *);
    int flags;
    const char *doc;
};

enum { METHOD_NO_ARGUMENTS = 4 };

/* stack(): returns the reader's frames as text, and checks that they are equal with the GIL and
 * without it. */
static void *stack_method(void *self, void *arguments)
{
    static char held[sizeof(text)];
    void *(*save)(void) = (void *(*)(void))symbol(python, "PyEval_SaveThread");
    void (*restore)(void *) = (void (*)(void *))symbol(python, "PyEval_RestoreThread");
    void *(*string)(const char *) = (void *(*)(const char *))symbol(python, "PyUnicode_FromString");
    (void)self, (void)arguments;
    harness_stack(held, sizeof(held), 100);
    void *state = save();
    harness_stack(text, sizeof(text), 100);
    restore(state);
    check(strcmp(text, held) == 0, "the same with the GIL and without");
    return string(text);
}

static void add_stack(void)
{
    static struct method methods[2] = {{"stack", stack_method, METHOD_NO_ARGUMENTS, NULL}};
    void *(*module)(const char *) = (void *(*)(const char *))symbol(python, "PyImport_AddModule");
    void *(*function)(struct method *, void *, void *) =
        (void *(*)(struct method *, void *, void *))symbol(python, "PyCFunction_NewEx");
    int (*set)(void *, const char *, void *) =
        (int (*)(void *, const char *, void *))symbol(python, "PyObject_SetAttrString");
    check(set(module("__main__"), "stack", function(methods, NULL, NULL)) == 0, "the function");
}

/* Runs a script that compares its own frames with the reader's; `lines` moves its code down. */
static void run(int lines, bool sub)
{
    char script[4096];
    char shift[64] = "";
    int (*simple)(const char *) = (int (*)(const char *))symbol(python, "PyRun_SimpleString");
    memset(shift, '\n', (size_t)lines);
    snprintf(script, sizeof(script),
             "import sys\n"
             "SUB = %d\n"
             "def look():%s\n"
             "    text, here = stack(), sys._getframe().f_lineno\n"
             "    want, frame = [['look', str(here)]], sys._getframe(1)\n"
             "    while frame:\n"
             "        want.append([frame.f_code.co_name, str(frame.f_lineno)])\n"
             "        frame = frame.f_back\n"
             "    got = [l.split('\\t') for l in text.splitlines()]\n"
             "    got = [[g[0].split('.')[-1], g[2]] for g in got]\n"
             "    if not (SUB and sys.version_info < (3, 12) and not got):\n"
             "        assert got == want, (got, want)\n"
             "def outer():%s\n"
             "    look()\n"
             "outer()\n",
             sub, shift, shift);
    add_stack();
    check(simple(script) == 0, "the script");
}

static void start(void)
{
    void (*initialize)(int) = (void (*)(int))symbol(python, "Py_InitializeEx");
    initialize(0);
}

static void finish(void)
{
    int (*finalize)(void) = (int (*)(void))symbol(python, "Py_FinalizeEx");
    finalize();
    check(harness_stack(text, sizeof(text), 10) == 0, "no frames after the end");
}

static void run_sub(void)
{
    void *(*new_interpreter)(void) = (void *(*)(void))symbol(python, "Py_NewInterpreter");
    void (*end)(void *) = (void (*)(void *))symbol(python, "Py_EndInterpreter");
    void *(*swap)(void *) = (void *(*)(void *))symbol(python, "PyThreadState_Swap");
    void *(*get)(void) = (void *(*)(void))symbol(python, "PyThreadState_Get");
    void *first = get(), *sub = new_interpreter();
    check(sub != NULL, "a subinterpreter");
    run(9, true);
    swap(first);
    run(2, false);
    swap(sub);
    run(9, true);
    end(sub);
    swap(first);
    run(3, false);
}

int main(int argc, char **argv)
{
    check(argc == 3, "usage: embed libpython.so harness.so");
    harness = dlopen(argv[2], RTLD_NOW);
    check(harness != NULL, "the harness");
    harness_find = (int (*)(void))symbol(harness, "harness_find");
    harness_status = (const char *(*)(void))symbol(harness, "harness_status");
    harness_stack = (int (*)(char *, int, int))symbol(harness, "harness_stack");
    check(!harness_find() && strcmp(harness_status(), "no Python in this process") == 0,
          "none yet");
    python = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    check(python != NULL, "the interpreter's library");
    check(!harness_find() && strstr(harness_status(), "not initialized"), "not initialized yet");
    check(harness_stack(text, sizeof(text), 10) == 0, "no frames before");
    start();
    check(harness_find(), "found");
    /* Extension modules need the library in the global scope. */
    check(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != NULL, "shown to all");
    check(harness_stack(text, sizeof(text), 10) == 0, "no frames while none runs");
    run(0, false);
    run_sub();
    finish();
    for (int lines = 1; lines < 8; lines++) { /* the same again, with code a line further down */
        start();
        run(lines, false);
        finish();
    }
    printf("embedded %s, then in a subinterpreter and 7 times again\n", harness_status());
    return 0;
}
