/* symbolizer.c - opens modules, and finds symbols and lines in them. */
#include "symbol/symbolizer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "symbol/elf/debug_file.h"
#include "symbol/elf/symbols.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODULES_OPEN = 8, PATHS_MAX = 1 << 20, PATHS_BYTES = 256 << 20 };

/* Describes a file of code. */
struct module {
    char *path, *build_id; /* owned: of the module that the caller named; NULL: the slot is free */
    char *kept;            /* owned; NULL: the session has no copy */
    int64_t size, mtime;
    uint64_t used;             /* number of the last call that used it */
    enum symbol_status status; /* SYMBOL_LINE, or why there is no result */
    struct elf_file program, debug;
    struct elf_symbols symbols, exported; /* exported: symbols that a small table does not have */
    struct dwarf_lines lines;
    bool has_lines;
};

struct symbolizer {
    const struct dw *dw; /* NULL: this machine has no libdw */
    struct err lacks;
    char *debug_root;     /* owned */
    struct intern *paths; /* owned: files' names, tidied */
    struct module modules[MODULES_OPEN];
    uint64_t calls;
    struct dwarf_level found[DWARF_LEVELS];
    struct symbol_level levels[DWARF_LEVELS];
};

/* ---- modules --------------------------------------------------------------------------- */

static void module_close(struct module *m)
{
    mem_free(m->path);
    mem_free(m->build_id);
    mem_free(m->kept);
    if (m->has_lines)
        dwarf_lines_close(&m->lines);
    elf_symbols_fini(&m->symbols);
    elf_symbols_fini(&m->exported);
    elf_file_close(&m->program);
    elf_file_close(&m->debug);
    memset(m, 0, sizeof *m);
    m->program.fd = m->debug.fd = -1;
}

static bool is_same(const struct elf_file *f, const struct symbol_module *wanted)
{
    if (*wanted->build_id)
        return !strcmp(f->build_id, wanted->build_id);
    return wanted->size == f->size && wanted->mtime == f->mtime;
}

/* Opens the file that the program used; *path gets its path. The kernel marks a file that had been
 * deleted when it was mapped; a file with that name may exist again. */
static enum symbol_status open_program(struct elf_file *f, const struct symbol_module *wanted,
                                       char path[PATH_MAX])
{
    static const char gone[] = " (deleted)";
    size_t len = strlen(wanted->path), mark = sizeof gone - 1;
    if (len >= PATH_MAX)
        return SYMBOL_MISSING;
    memcpy(path, wanted->path, len + 1);
    int rc = elf_file_open(f, path, NULL);
    if (rc == GPUFL_E_NOENT && len > mark && !strcmp(path + len - mark, gone)) {
        path[len - mark] = '\0';
        rc = elf_file_open(f, path, NULL);
    }
    if (rc)
        return rc == GPUFL_E_NOENT ? SYMBOL_MISSING : SYMBOL_UNREADABLE;
    if (is_same(f, wanted))
        return SYMBOL_LINE;
    elf_file_close(f);
    return SYMBOL_REPLACED;
}

/* Opens the session's copy of the mapped file. */
static bool open_kept(struct elf_file *f, const struct symbol_module *wanted)
{
    if (!wanted->kept || elf_file_open(f, wanted->kept, NULL))
        return false;
    if (!*wanted->build_id || !strcmp(f->build_id, wanted->build_id))
        return true;
    elf_file_close(f);
    return false;
}

/* Reads the symbols that a stripped program still has: a small table, and its exported symbols,
 * which that table does not have. */
static int read_left_symbols(struct module *m)
{
    struct elf_file small;
    int rc = elf_symbols_read(&m->exported, &m->program, true);
    if (!rc && debug_file_small(&small, &m->program)) {
        rc = elf_symbols_read(&m->symbols, &small, false);
        elf_file_close(&small);
    }
    return rc;
}

/* Reads the fullest symbol table: if the program is stripped, that of the debug file. */
static int read_symbols(struct module *m)
{
    int rc = 0;
    if (m->program.fd >= 0)
        rc = elf_symbols_read(&m->symbols, &m->program, false);
    if (!rc && !m->symbols.count && m->debug.fd >= 0) {
        elf_symbols_fini(&m->symbols);
        rc = elf_symbols_read(&m->symbols, &m->debug, false);
    }
    if (!rc && !m->symbols.count && m->program.fd >= 0) {
        elf_symbols_fini(&m->symbols);
        rc = read_left_symbols(m);
    }
    return rc;
}

static int read_lines(struct symbolizer *s, struct module *m)
{
    int rc = GPUFL_E_NOENT;
    if (!s->dw)
        return 0;
    if (m->program.fd >= 0)
        rc = dwarf_lines_open(&m->lines, s->dw, &m->program);
    if (rc && rc != GPUFL_E_NOMEM && m->debug.fd >= 0)
        rc = dwarf_lines_open(&m->lines, s->dw, &m->debug);
    m->has_lines = !rc;
    return rc == GPUFL_E_NOMEM ? rc : 0;
}

/* Opens a module. If the program's file is missing or replaced, a debug file with its build id can
 * still be used. */
static int module_open(struct symbolizer *s, struct module *m, const struct symbol_module *wanted)
{
    char path[PATH_MAX];
    m->path = mem_strdup(wanted->path);
    m->build_id = mem_strdup(wanted->build_id);
    m->size = wanted->size;
    m->mtime = wanted->mtime;
    m->kept = wanted->kept ? mem_strdup(wanted->kept) : NULL;
    if (!m->path || !m->build_id || (wanted->kept && !m->kept))
        return GPUFL_E_NOMEM;
    m->status = open_program(&m->program, wanted, path);
    if (m->status != SYMBOL_LINE && open_kept(&m->program, wanted))
        m->status = SYMBOL_LINE;
    if (m->status == SYMBOL_LINE)
        debug_file_open(&m->debug, s->debug_root, &m->program, path);
    else if (debug_file_by_id(&m->debug, s->debug_root, wanted->build_id))
        m->status = SYMBOL_LINE;
    if (m->status != SYMBOL_LINE)
        return 0;
    int rc = read_symbols(m);
    return rc ? rc : read_lines(s, m);
}

static bool is_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static int find_module(struct symbolizer *s, const struct symbol_module *wanted,
                       struct module **found)
{
    struct module *oldest = &s->modules[0];
    for (int i = 0; i < MODULES_OPEN; i++) {
        struct module *m = &s->modules[i];
        if (m->path && m->size == wanted->size && m->mtime == wanted->mtime &&
            is_text(m->path, wanted->path) && is_text(m->build_id, wanted->build_id) &&
            is_text(m->kept, wanted->kept)) {
            *found = m;
            return 0;
        }
        if (m->used < oldest->used)
            oldest = m;
    }
    module_close(oldest);
    int rc = module_open(s, oldest, wanted);
    if (rc)
        module_close(oldest);
    *found = oldest;
    return rc;
}

/* ---- results --------------------------------------------------------------------------- */

/* Removes "." and empty components, and ".." with the component before it. */
static void tidy(char *path, const char *from)
{
    size_t len = 0, size = 0;
    for (const char *c = from; *c; c += size) {
        c += strspn(c, "/");
        size = strcspn(c, "/");
        if (!size || (size == 1 && *c == '.'))
            continue;
        if (size == 2 && c[0] == '.' && c[1] == '.') {
            while (len && path[--len] != '/')
                ;
            continue;
        }
        path[len++] = '/';
        memcpy(path + len, c, size);
        len += size;
    }
    path[len] = '\0';
}

static bool is_another_file(const char *path, const char *than)
{
    struct stat a, b;
    return stat(than, &b) == 0 &&
           (stat(path, &a) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino);
}

/* Some build systems give the compiler's working folder as a link that leads elsewhere in every
 * process (/proc/self/cwd), so it is useless here. The rest of the path is then relative to an
 * unknown folder. */
static const char *without_cwd(const char *path)
{
    static const char link[] = "/proc/self/cwd";
    size_t len = sizeof link - 1;
    if (!path || strncmp(path, link, len) != 0 || (path[len] && path[len] != '/'))
        return path;
    path += len + strspn(path + len, "/");
    return *path ? path : NULL;
}

/* Returns a file's path as users know it. The compiler's own path is kept if the tidied path would
 * name another file or none: "a/../b" is not "b" if a is a link. Paths in the debug information of
 * distributions are often relative to an unknown folder, and stay so. */
static const char *tidy_path(struct symbolizer *s, const char *dir, const char *file)
{
    char full[PATH_MAX], path[PATH_MAX];
    const char *relative = without_cwd(file);
    dir = without_cwd(dir);
    if (relative != file)
        return relative ? relative : file;
    int n = *file != '/' && dir && *dir == '/' ? snprintf(full, PATH_MAX, "%s/%s", dir, file)
                                               : snprintf(full, PATH_MAX, "%s", file);
    if (n >= PATH_MAX || *full != '/')
        return file;
    if (strstr(full, "/.") || strstr(full, "//"))
        tidy(path, full);
    else
        memcpy(path, full, (size_t)n + 1);
    if (!strcmp(path, file))
        return file;
    uint32_t id = intern_str(s->paths, is_another_file(path, full) ? full : path);
    return id ? intern_text(s->paths, id, NULL) : file;
}

static size_t answer(struct symbolizer *s, enum symbol_status status, const char *function)
{
    s->levels[0] = (struct symbol_level){.status = status, .function = function};
    return 1;
}

static size_t find_levels(struct symbolizer *s, struct module *m, uint64_t address)
{
    const char *named = elf_symbols_find(&m->symbols, address);
    named = named ? named : elf_symbols_find(&m->exported, address);
    size_t n = m->has_lines ? dwarf_lines_find(&m->lines, address, named, s->found) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct dwarf_level *from = &s->found[i];
        s->levels[i] = (struct symbol_level){
            .status = from->split  ? SYMBOL_SPLIT
                      : from->line ? SYMBOL_LINE
                                   : SYMBOL_FUNCTION,
            .function = from->function,
            .file = from->line ? tidy_path(s, from->dir, from->file) : NULL,
            .line = from->line,
        };
    }
    if (n)
        return n;
    return answer(s, named ? SYMBOL_FUNCTION : SYMBOL_NOTHING, named);
}

int symbolizer_find(struct symbolizer *s, const struct symbol_module *m, uint64_t address,
                    const struct symbol_level **levels, size_t *count)
{
    struct module *module = NULL;
    int rc = 0;
    s->calls++;
    *levels = s->levels;
    if (m->kind != SYMBOL_ELF) {
        *count = answer(s, m->kind == SYMBOL_CODE ? SYMBOL_GENERATED : SYMBOL_MISSING, NULL);
        return 0;
    }
    rc = find_module(s, m, &module);
    if (rc)
        return rc;
    module->used = s->calls;
    *count = module->status == SYMBOL_LINE ? find_levels(s, module, address)
                                           : answer(s, module->status, NULL);
    return 0;
}

/* ---- open and close -------------------------------------------------------------------- */

int symbolizer_open(struct symbolizer **out, const char *debug_root)
{
    struct symbolizer *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s)
        return GPUFL_E_NOMEM;
    for (int i = 0; i < MODULES_OPEN; i++)
        s->modules[i].program.fd = s->modules[i].debug.fd = -1;
    s->dw = dw_open(&s->lacks);
    s->debug_root = mem_strdup(debug_root);
    if (!s->debug_root || intern_open(&s->paths, PATHS_MAX, PATHS_BYTES)) {
        symbolizer_close(s);
        return GPUFL_E_NOMEM;
    }
    *out = s;
    return 0;
}

void symbolizer_close(struct symbolizer *s)
{
    if (!s)
        return;
    for (int i = 0; i < MODULES_OPEN; i++)
        module_close(&s->modules[i]);
    if (s->paths)
        intern_close(s->paths);
    mem_free(s->debug_root);
    mem_free(s);
}

const char *symbolizer_lacks(const struct symbolizer *s)
{
    return s->dw ? NULL : s->lacks.text;
}
