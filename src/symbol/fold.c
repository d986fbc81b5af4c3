/* fold.c - decides by a table to whose code a frame belongs. */
#include "symbol/fold.h"

#include "backend/vendor.h"

#include <string.h>

/* Names the part of a frame that a row compares. */
enum look { PYTHON_FILE, MODULE, MODULE_BASE, FUNCTION, NATIVE_FILE };

enum match { BEGINS, HAS, IS, OF_INDUCTOR };

struct rule {
    enum look look;
    enum match match;
    const char *text;
    enum fold_kind kind;
    bool no_line; /* only if the line is unknown: a file with lines can belong to the user */
};

/* The first match counts. Code of vendors is checked before (of_vendor). */
static const struct rule rules[] = {
    /* Python: folders of installed packages are inside the folder of the interpreter's modules. */
    {PYTHON_FILE, HAS, "/site-packages/", FOLD_LIBRARY, false},
    {PYTHON_FILE, HAS, "/dist-packages/", FOLD_LIBRARY, false},
    {PYTHON_FILE, BEGINS, "<frozen ", FOLD_STDLIB, false},
    {PYTHON_FILE, HAS, "/lib/python3", FOLD_STDLIB, false},
    {PYTHON_FILE, HAS, "/lib64/python3", FOLD_STDLIB, false},
    {PYTHON_FILE, IS, "<string>", FOLD_GENERATED, false}, /* dataclasses, named tuples, exec */
    {PYTHON_FILE, BEGINS, "<attrs generated ", FOLD_GENERATED, false},
    {PYTHON_FILE, BEGINS, "<__array_function__", FOLD_LIBRARY, false}, /* numpy */
    {PYTHON_FILE, BEGINS, "<eval_with_key>", FOLD_LIBRARY, false},     /* torch.fx */
    {PYTHON_FILE, BEGINS, "<torch_package", FOLD_LIBRARY, false},
    {PYTHON_FILE, BEGINS, "<decorator-gen-", FOLD_LIBRARY, false}, /* the package decorator */
    {PYTHON_FILE, BEGINS, "<@beartype(", FOLD_LIBRARY, false},
    /* Modules that libraries write to a folder for temporary files, under their own names. */
    {PYTHON_FILE, HAS, "/torch_geometric.nn.", FOLD_LIBRARY, false},
    {PYTHON_FILE, HAS, "/torchinductor_", FOLD_LIBRARY, false}, /* torch.compile */
    {PYTHON_FILE, OF_INDUCTOR, "", FOLD_LIBRARY, false},        /* in another cache's folder */

    {MODULE_BASE, BEGINS, "libgpufl.so", FOLD_DRIVER, false},

    /* The C library, and what starts a program and its threads: the end of every stack. */
    {MODULE_BASE, BEGINS, "libc.so", FOLD_SYSTEM, false},
    {MODULE_BASE, BEGINS, "libpthread.so", FOLD_SYSTEM, false},
    {MODULE_BASE, BEGINS, "libstdc++.so", FOLD_SYSTEM, false},
    {MODULE_BASE, BEGINS, "ld-linux-", FOLD_SYSTEM, false},
    {MODULE_BASE, BEGINS, "linux-vdso.so", FOLD_SYSTEM, false},
    {MODULE, BEGINS, "[vdso]", FOLD_SYSTEM, false},
    {FUNCTION, IS, "_start", FOLD_SYSTEM, false},
    {FUNCTION, BEGINS, "__libc_", FOLD_SYSTEM, false},

    /* The interpreter, as a library or a program. */
    {MODULE_BASE, BEGINS, "libpython3", FOLD_INTERPRETER, false},
    {MODULE_BASE, BEGINS, "python3", FOLD_INTERPRETER, false},
    {MODULE_BASE, IS, "python", FOLD_INTERPRETER, false},

    /* Libraries, by the folder of their installation, with lines or without. */
    {MODULE, HAS, "/site-packages/", FOLD_LIBRARY, false},
    {MODULE, HAS, "/dist-packages/", FOLD_LIBRARY, false},
    {MODULE, HAS, "/lib-dynload/", FOLD_STDLIB, false},
    {MODULE, BEGINS, "/usr/lib/", FOLD_LIBRARY, false},
    {MODULE, BEGINS, "/usr/lib64/", FOLD_LIBRARY, false},
    {MODULE, BEGINS, "/lib/", FOLD_LIBRARY, false},
    {MODULE, BEGINS, "/lib64/", FOLD_LIBRARY, false},
    {MODULE, BEGINS, "/nix/store/", FOLD_LIBRARY, true},

    /* Headers of libraries that were inlined into the user's functions. */
    {NATIVE_FILE, BEGINS, "/usr/include/", FOLD_LIBRARY, false},
    {NATIVE_FILE, BEGINS, "/usr/lib/", FOLD_LIBRARY, false},
    {NATIVE_FILE, HAS, "/include/c++/", FOLD_LIBRARY, false},
    {NATIVE_FILE, HAS, "/site-packages/", FOLD_LIBRARY, false},
    {NATIVE_FILE, HAS, "/dist-packages/", FOLD_LIBRARY, false},
    {NATIVE_FILE, HAS, "/gpufl/gpufl.hpp", FOLD_LIBRARY, false},
};

static const char *const names[] = {
    [FOLD_USER] = "user",     [FOLD_GENERATED] = "generated", [FOLD_LIBRARY] = "library",
    [FOLD_STDLIB] = "stdlib", [FOLD_RUNTIME] = "runtime",     [FOLD_INTERPRETER] = "interpreter",
    [FOLD_DRIVER] = "driver", [FOLD_UNKNOWN] = "unknown",     [FOLD_MARK] = "mark",
};

const char *fold_name(enum fold_kind k)
{
    return names[k];
}

/* ---- one frame ------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *looked_at(const struct fold_frame *f, enum look look)
{
    switch (look) {
    case PYTHON_FILE:
    case NATIVE_FILE:
        return (look == PYTHON_FILE) == (f->language == FOLD_PYTHON) ? or_empty(f->file) : "";
    case MODULE:
        return or_empty(f->module);
    case MODULE_BASE:
        return base_of(or_empty(f->module));
    case FUNCTION:
        return f->language == FOLD_NATIVE ? or_empty(f->function) : "";
    }
    return "";
}

/* Returns true for ".../ab/cab<49 more>.py": torch.compile names a file "c" and 51 letters and
 * digits (base32) of the SHA-256 of its content; the second and third letter are the name of its
 * folder (torch/_inductor/codecache.py). The user may choose where the cache is
 * (TORCHINDUCTOR_CACHE_DIR). */
static bool is_of_inductor(const char *path)
{
    enum { NAME = 52, FOLDER = 2 };
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    const char *base = base_of(path);
    return *base == 'c' && strspn(base, digits) == NAME && !strcmp(base + NAME, ".py") &&
           base - path >= FOLDER + 2 && base[-FOLDER - 2] == '/' &&
           !strncmp(base - FOLDER - 1, base + 1, FOLDER);
}

static bool matches(const struct rule *r, const char *text)
{
    size_t len = strlen(r->text);
    switch (r->match) {
    case OF_INDUCTOR:
        return is_of_inductor(text);
    case HAS:
        return strstr(text, r->text) != NULL;
    case IS:
        return !strcmp(text, r->text);
    case BEGINS:
        return !strncmp(text, r->text, len);
    }
    return false;
}

static bool matches_vendor(const struct vendor_rule *r, const char *text)
{
    size_t len = strlen(r->text);
    if (r->match == VENDOR_HAS)
        return strstr(text, r->text) != NULL;
    return !strncmp(text, r->text, len) &&
           (r->match == VENDOR_BEGINS || (text[len] >= 'A' && text[len] <= 'Z'));
}

/* Returns the kind of a frame in a vendor's driver, runtime or libraries. FOLD_USER: it is in none
 * of these. */
static enum fold_kind of_vendor(const struct fold_frame *f, bool has_line)
{
    static const enum look looks[] = {
        [VENDOR_FUNCTION] = FUNCTION, [VENDOR_MODULE] = MODULE, [VENDOR_FILE] = NATIVE_FILE};
    const struct vendor_module *m = vendor_module_of(or_empty(f->module));
    if (m)
        return m->runtime ? FOLD_RUNTIME : FOLD_DRIVER;
    for (const struct vendor *const *v = vendors; *v; v++)
        for (const struct vendor_rule *r = (*v)->rules; r && r->text; r++)
            if (!(r->no_line && has_line) && matches_vendor(r, looked_at(f, looks[r->look])))
                return r->runtime ? FOLD_RUNTIME : FOLD_LIBRARY;
    return FOLD_USER;
}

/* Accepts lib….so, lib….so.1 and lib….so (deleted). */
static bool is_library(const char *module)
{
    const char *base = base_of(module), *so = strstr(base, ".so");
    return so && (so[3] == '\0' || so[3] == '.' || so[3] == ' ');
}

enum fold_kind fold_classify(const struct fold_frame *f)
{
    bool has_line = f->line > 0 && *or_empty(f->file);
    if (f->language == FOLD_NOTE)
        return FOLD_MARK;
    enum fold_kind vendor = f->language == FOLD_NATIVE ? of_vendor(f, has_line) : FOLD_USER;
    if (vendor != FOLD_USER)
        return vendor;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!(rules[i].no_line && has_line) && matches(&rules[i], looked_at(f, rules[i].look)))
            return rules[i].kind;
    if (f->language == FOLD_PYTHON)
        return *or_empty(f->file) ? FOLD_USER : FOLD_UNKNOWN;
    if (has_line)
        return FOLD_USER;
    if (is_library(or_empty(f->module)))
        return FOLD_LIBRARY;
    return *or_empty(f->module) && *or_empty(f->function) ? FOLD_USER : FOLD_UNKNOWN;
}

bool fold_is_nameless_program(const struct fold_frame *f)
{
    return f->language == FOLD_NATIVE && *or_empty(f->module) && !is_library(f->module) &&
           fold_classify(f) == FOLD_UNKNOWN;
}

/* ---- a stack --------------------------------------------------------------------------- */

/* Says which frame is shown if none belongs to the user; the best first. */
enum second {
    GENERATED_LINE,
    PYTHON_LINE,
    NATIVE_LINE,
    NATIVE_NAME,
    PROGRAM_MODULE,
    NATIVE_MODULE,
    SECONDS
};

/* Returns the position of a frame in that order; SECONDS: never shown. */
static enum second second_best(const struct fold_frame *f, enum fold_kind kind)
{
    bool has_line = f->line > 0 && *or_empty(f->file);
    if (f->language == FOLD_PYTHON)
        return !has_line ? SECONDS : kind == FOLD_GENERATED ? GENERATED_LINE : PYTHON_LINE;
    if (kind != FOLD_LIBRARY && kind != FOLD_STDLIB && kind != FOLD_INTERPRETER &&
        kind != FOLD_UNKNOWN)
        return SECONDS;
    if (has_line)
        return NATIVE_LINE;
    if (*or_empty(f->function))
        return NATIVE_NAME;
    if (fold_is_nameless_program(f))
        return PROGRAM_MODULE;
    return *or_empty(f->module) ? NATIVE_MODULE : SECONDS;
}

size_t fold_user(const struct fold_frame *frames, size_t n)
{
    size_t found[SECONDS + 1];
    for (int i = 0; i <= SECONDS; i++)
        found[i] = FOLD_NONE;
    for (size_t i = 0; i < n; i++) {
        enum fold_kind kind = fold_classify(&frames[i]);
        if (kind == FOLD_USER)
            return i;
        enum second s = second_best(&frames[i], kind);
        if (found[s] == FOLD_NONE)
            found[s] = i;
    }
    for (int i = 0; i < SECONDS; i++)
        if (found[i] != FOLD_NONE)
            return found[i];
    return FOLD_NONE;
}
