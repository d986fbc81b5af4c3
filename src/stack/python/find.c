/* find.c - finds, checks and describes the Python interpreter of this process.
 *
 * The interpreter is found by its symbols, which every build exports for extension modules. The
 * row of its version in our table is compared with what the interpreter publishes: sizes and member
 * tables of its types, and the offsets of 3.13 and later. A row that passes is used; the first
 * walks then have to find this thread's state and whole frames, otherwise Python is switched off
 * with a reason.
 *
 * Nothing here calls functions of the interpreter. The library of an interpreter in use is pinned,
 * so that pointers into it stay valid. One thread at a time searches, others go on without Python;
 * the result is published with release. The loader is called only if there is an interpreter
 * (dynsym.h), because it may block. */
#include "stack/common/safe.h"
#include "stack/python/dynsym.h"
#include "stack/python/inside.h"

#include "base/process/dl.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum {
    TYPE_BASICSIZE = 32, /* offset in a type object: Py_ssize_t */
    TYPE_MEMBERS = 240,  /* offset in a type object: table of PyMemberDef */
    MEMBER_BYTES = 40,   /* size of a PyMemberDef: name, type, offset, flags, doc */
    MEMBER_OFFSET = 16,
    MEMBERS_MOST = 64,
    PUBLISHED_WORDS = 83, /* words of _Py_DebugOffsets that are read */
    PUBLISHED_VERSION = 1,
    PUBLISHED_FREE_THREADED = 2,
    PUBLISHED_FROM = 13, /* minor version */
    RELEASE_FINAL = 0xf, /* in Py_Version */
    DOUBTS_MOST = 4,     /* walks that may fail before one has succeeded */
    RANGES_MOST = 16,
    NAME_MOST = 24,
    OFFSET_MOST = 4000,    /* largest offset that is read: less than a page */
    INTERP_MOST = 1 << 16, /* the same in an interpreter, which is larger */
};

static const struct python_layout layouts[] = {
#define ROW(...) {__VA_ARGS__},
#include "stack/python/layout.def"
};

static const struct {
    int minor, word, plus;
    size_t field; /* offset in struct python_layout */
} published[] = {
#define PUBLISHED(minor, word, plus, field)                                                        \
    {minor, word, plus, offsetof(struct python_layout, field)},
#include "stack/python/layout.def"
};

/* Lists offsets that a type publishes, with which a row must agree. member NULL: tp_basicsize. */
static const struct {
    int from, to; /* minor versions */
    const char *type, *member;
    size_t field;
} checks[] = {
#define CHECK(from, to, type, member, field)                                                       \
    {                                                                                              \
        from, to, type, member, offsetof(struct python_layout, field)                              \
    }
    CHECK(9, 99, "PyCode_Type", NULL, code_size),
    CHECK(9, 99, "PyFrame_Type", NULL, frame_size),
    CHECK(9, 99, "PyUnicode_Type", NULL, str_size),
    CHECK(9, 99, "PyCode_Type", "co_filename", file),
    CHECK(9, 99, "PyCode_Type", "co_firstlineno", first_line),
    CHECK(9, 10, "PyCode_Type", "co_name", name),
    CHECK(11, 99, "PyCode_Type", "co_qualname", name),
    CHECK(9, 9, "PyCode_Type", "co_lnotab", table),
    CHECK(10, 99, "PyCode_Type", "co_linetable", table),
    CHECK(9, 10, "PyFrame_Type", "f_back", frame_up),
    CHECK(9, 10, "PyFrame_Type", "f_code", frame_code),
    CHECK(9, 9, "PyFrame_Type", "f_lasti", frame_at),
#undef CHECK
};

/* Lists functions between the loop and C functions, for programs that contain the interpreter. */
static const char *const between[] = {
    "_PyEval_EvalFrameDefault",
    "PyEval_EvalCode",
    "PyObject_Vectorcall",
    "_PyObject_MakeTpCall",
    "PyVectorcall_Call",
    "_PyVectorcall_Call",
    "PyObject_Call",
    "_PyObject_Call",
    "_PyFunction_Vectorcall",
    "PyObject_VectorcallMethod",
    "_PyObject_FastCallDictTstate",
    "PyObject_CallObject",
    "PyCFunction_Call",
    "_PyObject_FastCall",
};

static struct python_layout found;               /* written before it is published */
static const struct python_layout *_Atomic live; /* release; acquire in python_layout */
static const char *_Atomic status = "no Python in this process"; /* release; acquire in readers */
static char text_whole[64], text_unproved[112], text_off[224];
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* a thread is in python_find */
static _Atomic bool rejected;                   /* an interpreter that cannot be read was found */
static _Atomic bool proved;                     /* a walk has succeeded */
static _Atomic int doubts;                      /* walks that failed before that */
static unsigned long long modules_seen = ~0ull; /* loads at the last search; under busy */

static struct range {
    uintptr_t begin, end;
} ranges[RANGES_MOST];
static _Atomic unsigned range_count; /* release; acquire in python_is_interpreter */

const struct python_layout *python_layout(void)
{
    return atomic_load_explicit(&live, memory_order_acquire);
}

const char *python_status(void)
{
    return atomic_load_explicit(&status, memory_order_acquire);
}

bool python_is_rejected(void)
{
    return atomic_load_explicit(&rejected, memory_order_acquire);
}

static bool find_off(const char *reason)
{
    snprintf(text_off, sizeof(text_off), "%s%s%s", text_whole, *text_whole ? ": " : "", reason);
    atomic_store_explicit(&status, text_off, memory_order_release);
    atomic_store_explicit(&rejected, true, memory_order_release);
    atomic_store_explicit(&live, NULL, memory_order_release);
    return false;
}

void python_judge(const struct python_layout *l, bool good)
{
    if (atomic_load_explicit(&proved, memory_order_relaxed))
        return;
    if (good) {
        atomic_store_explicit(&proved, true, memory_order_relaxed);
        if (python_layout() == l)
            atomic_store_explicit(&status, text_whole, memory_order_release);
    } else if (atomic_fetch_add_explicit(&doubts, 1, memory_order_relaxed) == DOUBTS_MOST - 1) {
        find_off("its frames are not where this version keeps them");
    }
}

static int find_count_loads(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    *(unsigned long long *)to = info->dlpi_adds;
    return 1;
}

static void *find_symbol(void *library, const char *name)
{
    return dlsym(library ? library : RTLD_DEFAULT, name);
}

/* Finds 3.<minor> by a data symbol that is new in 3.11, else by functions that are new in a
 * version; micro -1: unknown; minor 0: before 3.9. False: no version that can be read. */
static bool find_version(void *library, int *minor, int *micro, const char **why)
{
    uint32_t hex;
    const void *version = find_symbol(library, "Py_Version");
    *micro = -1;
    *why = "the version is not one that is known";
    if (!version) {
        *minor = find_symbol(library, "PyIter_Send")       ? 10
                 : find_symbol(library, "PyFrame_GetCode") ? 9
                                                           : 0;
        return *minor != 0;
    }
    if (!safe_read(&hex, version, sizeof(hex)) || hex >> 24 != 3)
        return false;
    *minor = (int)(hex >> 16 & 255);
    *micro = (int)(hex >> 8 & 255);
    if ((hex >> 4 & 15) == RELEASE_FINAL)
        return true;
    *why = "a pre-release";
    return false;
}

/* Returns the offset of a member that a type publishes; -1: it has no member of that name. */
static long find_member(const char *type, const char *name)
{
    uintptr_t members;
    if (!safe_read(&members, type + TYPE_MEMBERS, sizeof(members)) || !members)
        return -1;
    for (int i = 0; i < MEMBERS_MOST; i++, members += MEMBER_BYTES) {
        uintptr_t text;
        uint64_t offset;
        char read[NAME_MOST];
        size_t size = strlen(name) + 1;
        if (!safe_read(&text, (const void *)members, sizeof(text)) || !text)
            return -1;
        if (safe_read(read, (const void *)text, size) && memcmp(read, name, size) == 0)
            return safe_read(&offset, (const char *)members + MEMBER_OFFSET, sizeof(offset)) &&
                           offset < INT32_MAX
                       ? (long)offset
                       : -1;
    }
    return -1;
}

static bool find_check_types(void *library, const struct python_layout *l)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (l->minor < checks[i].from || l->minor > checks[i].to)
            continue;
        const char *type = find_symbol(library, checks[i].type);
        uint64_t size;
        long is = -1;
        if (type && checks[i].member)
            is = find_member(type, checks[i].member);
        else if (type && safe_read(&size, type + TYPE_BASICSIZE, sizeof(size)) && size < INT32_MAX)
            is = (long)size;
        uint32_t must;
        memcpy(&must, (const char *)l + checks[i].field, sizeof(must));
        if (is != (long)must)
            return false;
    }
    return true;
}

/* Copies the offsets that the interpreter publishes. Returns NULL, or why they cannot be used. */
static const char *find_published(const char *runtime, struct python_layout *l)
{
    uint64_t words[PUBLISHED_WORDS];
    if (l->minor < PUBLISHED_FROM)
        return NULL;
    if (!safe_read(words, runtime, sizeof(words)) || memcmp(words, "xdebugpy", 8) != 0 ||
        (words[PUBLISHED_VERSION] >> 16 & 255) != (unsigned)l->minor)
        return "it publishes no offsets that are understood";
    if (words[PUBLISHED_FREE_THREADED])
        return "a free-threaded build, whose frames are not read";
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        uint64_t value = words[published[i].word] + (uint64_t)(int64_t)published[i].plus;
        if (published[i].minor != l->minor)
            continue;
        size_t field = published[i].field;
        bool interp = field == offsetof(struct python_layout, interp_threads) ||
                      field == offsetof(struct python_layout, collector) ||
                      field == offsetof(struct python_layout, collecting) ||
                      field == offsetof(struct python_layout, interp_gil);
        if (value > (interp ? INTERP_MOST : OFFSET_MOST))
            return "it publishes offsets that cannot be";
        uint32_t offset = (uint32_t)value;
        memcpy((char *)l + field, &offset, sizeof(offset));
    }
    return NULL;
}

static void find_span(uint32_t *begin, uint32_t *end, uint32_t at, uint32_t size)
{
    *begin = at < *begin ? at : *begin;
    *end = at + size > *end ? at + size : *end;
}

/* Finds the parts of frames and code objects that are read at once. */
static void find_parts(struct python_layout *l)
{
    uint32_t begin = UINT32_MAX, end = 0;
    find_span(&begin, &end, l->frame_code, 8);
    find_span(&begin, &end, l->frame_up, 8);
    find_span(&begin, &end, l->frame_at, 8);
    find_span(&begin, &end, l->frame_owner ? l->frame_owner : l->frame_at, 1);
    find_span(&begin, &end, l->frame_state ? l->frame_state : l->frame_at, 1);
    l->frame_begin = begin;
    l->frame_bytes = end - begin;
    begin = UINT32_MAX, end = 0;
    find_span(&begin, &end, l->first_line, 4);
    find_span(&begin, &end, l->file, 8);
    find_span(&begin, &end, l->name, 8);
    find_span(&begin, &end, l->table, 8);
    find_span(&begin, &end, l->version ? l->version : l->table, 4);
    find_span(&begin, &end, l->traceable ? l->traceable : l->table, 4);
    l->code_begin = begin;
    l->code_bytes = end - begin;
}

static void find_add_range(uintptr_t begin, uintptr_t end)
{
    unsigned n = atomic_load_explicit(&range_count, memory_order_relaxed);
    if (n == RANGES_MOST || begin == end)
        return;
    ranges[n] = (struct range){begin, end};
    atomic_store_explicit(&range_count, n + 1, memory_order_release);
}

/* Returns true if a file contains only an interpreter: python3.12, libpython3.12.so.1.0. */
static bool find_is_python_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
}

static int find_module_ranges(struct dl_phdr_info *info, size_t size, void *runtime)
{
    char path[512] = "";
    bool here = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        here |= p->p_type == PT_LOAD && (uintptr_t)runtime - begin < p->p_memsz;
    }
    if (!here)
        return 0;
    if (info->dlpi_name && *info->dlpi_name)
        snprintf(path, sizeof(path), "%s", info->dlpi_name);
    else if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
        path[0] = '\0';
    if (!find_is_python_file(path))
        return 1;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            find_add_range(info->dlpi_addr + p->p_vaddr, info->dlpi_addr + p->p_vaddr + p->p_memsz);
    }
    return 1;
}

/* Finds the interpreter's code: all code of a file that contains only the interpreter; in another
 * program, the loop and the functions between it and C functions, if they have names. */
static void find_ranges(void *library, void *runtime)
{
    dl_iterate_phdr(find_module_ranges, runtime);
    if (atomic_load_explicit(&range_count, memory_order_relaxed))
        return;
    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
        Dl_info info;
        const ElfW(Sym) *symbol = NULL;
        void *function = find_symbol(library, between[i]);
        if (function && dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
            find_add_range((uintptr_t)function, (uintptr_t)function + symbol->st_size);
    }
}

static void find_pin(const void *runtime)
{
    Dl_info info;
    if (dladdr(runtime, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Returns the number of bytes of an object that a file exports; 0: not known. */
static uintptr_t find_size(void *object)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(object, &info, (void **)&symbol, RTLD_DL_SYMENT) || info.dli_saddr != object ||
        !symbol)
        return 0;
    return symbol->st_size;
}

/* Finds out which interpreter it is, and whether it can be read. */
static bool find_examine(void *library, void *runtime)
{
    int minor = 0, micro = -1;
    const char *why;
    const struct python_layout *row = NULL;
    bool known = find_version(library, &minor, &micro, &why);
    if (micro >= 0)
        snprintf(text_whole, sizeof(text_whole), "CPython 3.%d.%d", minor, micro);
    else
        snprintf(text_whole, sizeof(text_whole), minor ? "CPython 3.%d" : "CPython before 3.9",
                 minor);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].minor == minor)
            row = &layouts[i];
    if (!known || !row)
        return find_off(why);
    struct python_layout l = *row;
    if (minor < PUBLISHED_FROM &&
        (find_symbol(library, "_Py_RefTotal") || find_symbol(library, "_Py_INCREF_IncRefTotal")))
        return find_off("a debug build, whose frames are not read");
    if ((why = find_published(runtime, &l)))
        return find_off(why);
    if (!find_check_types(library, &l))
        return find_off("its objects are not laid out as this version does");
    int initialized;
    if (!safe_read(&initialized, (char *)runtime + l.initialized, sizeof(initialized)) ||
        (initialized != 0 && initialized != 1))
        return find_off("its runtime is not laid out as this version does");
    if (!initialized) {
        atomic_store_explicit(&status, "Python is not initialized", memory_order_release);
        return false;
    }
    find_parts(&l);
    l.code_type = (uintptr_t)find_symbol(library, "PyCode_Type");
    l.runtime = (uintptr_t)runtime;
    l.runtime_size = find_size(runtime);
    l.key = (const _Atomic int *)((char *)runtime + l.tss);
    find_pin(runtime);
    find_ranges(library, runtime);
    found = l;
    snprintf(text_unproved, sizeof(text_unproved), "%s, none of its frames seen yet", text_whole);
    atomic_store_explicit(&status, text_unproved, memory_order_release);
    atomic_store_explicit(&live, &found, memory_order_release);
    return true;
}

/* Returns the interpreter's own memory (_PyRuntime), or a function of an interpreter too old to
 * have it; NULL: there is no interpreter. The loader is called only if there is one. */
static void *find_runtime(void **library)
{
    void *runtime;
    *library = NULL;
    if (!dynsym_is_defined("_PyRuntime") && !dynsym_is_defined("Py_GetVersion"))
        return NULL;
    runtime = find_symbol(NULL, "_PyRuntime");
    if (!runtime && (*library = dl_find_loaded("libpython3", NULL, 0)))
        runtime = find_symbol(*library, "_PyRuntime");
    return runtime ? runtime : find_symbol(*library, "Py_GetVersion"); /* before 3.7 */
}

bool python_find(void)
{
    static bool waiting; /* an interpreter is not initialized yet; under busy */
    unsigned long long loads = 0;
    if (python_layout())
        return true;
    if (atomic_load_explicit(&rejected, memory_order_acquire) ||
        atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return false;
    dl_iterate_phdr(find_count_loads, &loads);
    bool good = false;
    if (!python_layout() && !atomic_load_explicit(&rejected, memory_order_relaxed) &&
        (waiting || loads != modules_seen)) {
        void *library = NULL, *runtime = find_runtime(&library);
        modules_seen = loads;
        good = runtime && find_examine(library, runtime);
        waiting = runtime && !good;
    } else {
        good = python_layout() != NULL;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return good;
}

bool python_is_interpreter(uintptr_t pc)
{
    unsigned n = atomic_load_explicit(&range_count, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (pc - ranges[i].begin < ranges[i].end - ranges[i].begin)
            return true;
    return false;
}

void python_forget(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}
