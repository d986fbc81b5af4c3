/* plt.c - see plt.h.
 *
 * Why the loader's cells are changed: a replacement that is found before the real function needs
 * LD_PRELOAD, which is too late for a library that the driver loads; a jump written into the real
 * function changes code that other threads run.
 *
 * Invariant: cells of a library with RELRO are read-only after loading. The page is made
 * writable for the one store and read-only again; other threads read the old or the new address. */
#include "base/process/plt.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { TYPE_CALL = R_X86_64_JUMP_SLOT, TYPE_POINTER = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { TYPE_CALL = R_AARCH64_JUMP_SLOT, TYPE_POINTER = R_AARCH64_GLOB_DAT };
#else
#error "gpufl runs on x86-64 and arm64"
#endif

/* Holds the parts of a loaded library that are read. */
struct object {
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *strings;
    size_t strings_size; /* bytes */
    const ElfW(Rela) * calls, *pointers;
    size_t calls_size, pointers_size;    /* bytes */
    ElfW(Addr) sealed_begin, sealed_end; /* addresses that RELRO made read-only */
};

/* glibc has made these addresses absolute; other loaders leave offsets. */
static const void *address(const struct object *o, ElfW(Addr) value)
{
    return (const void *)(value < o->base ? value + o->base : value);
}

static void read_dynamic(struct object *o)
{
    for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            o->symbols = address(o, d->d_un.d_ptr);
            break;
        case DT_STRTAB:
            o->strings = address(o, d->d_un.d_ptr);
            break;
        case DT_STRSZ:
            o->strings_size = d->d_un.d_val;
            break;
        case DT_JMPREL:
            o->calls = address(o, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            o->calls_size = d->d_un.d_val;
            break;
        case DT_RELA:
            o->pointers = address(o, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            o->pointers_size = d->d_un.d_val;
            break;
        default:
            break;
        }
}

/* Returns false if the library cannot be read in this way, like the vdso. */
static bool object_read(struct object *o, const struct dl_phdr_info *info)
{
    ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    *o = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        ElfW(Addr) at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            o->dynamic = (const void *)at;
        if (p->p_type == PT_GNU_RELRO) {
            o->sealed_begin = at & ~(page - 1);
            o->sealed_end = (at + p->p_memsz) & ~(page - 1);
        }
    }
    if (!o->dynamic)
        return false;
    read_dynamic(o);
    return o->symbols && o->strings && (o->calls || o->pointers);
}

/* ---- cells ----------------------------------------------------------------------------- */

static bool cell_write(const struct object *o, ElfW(Addr) at, void *value)
{
    void **cell = (void **)at;
    long page = sysconf(_SC_PAGESIZE);
    bool sealed = at >= o->sealed_begin && at < o->sealed_end;
    void *begin = (void *)(at & ~(ElfW(Addr))(page - 1));
    if (__atomic_load_n(cell, __ATOMIC_RELAXED) == value)
        return false;
    if (sealed && mprotect(begin, (size_t)page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(cell, value, __ATOMIC_RELEASE);
    if (sealed)
        (void)mprotect(begin, (size_t)page, PROT_READ);
    return true;
}

struct work {
    const struct plt_hook *hooks;
    size_t count;
    plt_accept_fn *accept;
    size_t changed;
};

/* Returns the next name in the dynamic section with this tag, from *at on; NULL: there is no
 * further one. */
static const char *entry_name(const struct object *o, const ElfW(Dyn) * *at, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = *at; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag && d->d_un.d_val < o->strings_size) {
            *at = d + 1;
            return o->strings + d->d_un.d_val;
        }
    return NULL;
}

static bool needs(const struct object *o, const char *library)
{
    const ElfW(Dyn) *at = o->dynamic;
    const char *name;
    while ((name = entry_name(o, &at, DT_NEEDED)))
        if (strcmp(name, library) == 0)
            return true;
    return false;
}

static void *replacement(const struct work *w, const struct object *o, const char *name)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct plt_hook *h = &w->hooks[i];
        if (strcmp(h->name, name) == 0)
            return !h->library || needs(o, h->library) ? h->function : NULL;
    }
    return NULL;
}

static void table_hook(const struct object *o, const ElfW(Rela) * rows, size_t bytes,
                       struct work *w)
{
    for (size_t i = 0; rows && i < bytes / sizeof *rows; i++) {
        const ElfW(Rela) *r = &rows[i];
        unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
        if (type != TYPE_CALL && type != TYPE_POINTER)
            continue;
        const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];
        if (s->st_name >= o->strings_size || s->st_shndx != SHN_UNDEF)
            continue; /* the library's own function */
        void *function = replacement(w, o, o->strings + s->st_name);
        if (function)
            w->changed += cell_write(o, o->base + r->r_offset, function);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct work *w = arg;
    struct object o;
    if (!w->accept(info->dlpi_name ? info->dlpi_name : "") || !object_read(&o, info))
        return 0;
    table_hook(&o, o.calls, o.calls_size, w);
    table_hook(&o, o.pointers, o.pointers_size, w);
    return 0;
}

size_t plt_hook(const struct plt_hook *hooks, size_t count, plt_accept_fn *accept)
{
    struct work w = {hooks, count, accept, 0};
    dl_iterate_phdr(visit, &w);
    return w.changed;
}

/* ---- what is loaded ------------------------------------------------------------------- */

static int first_adds(struct dl_phdr_info *info, size_t size, void *arg)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

unsigned long long plt_loaded(void)
{
    unsigned long long adds = 0;
    dl_iterate_phdr(first_adds, &adds);
    return adds;
}

struct needed {
    const char *prefix; /* of the name looked for; in plt_soname the path of the library */
    char *out;
    size_t size;
    bool found;
};

/* The loader lists the program first. */
static int visit_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct needed *n = arg;
    struct object o;
    if (!object_read(&o, info))
        return 1;
    const ElfW(Dyn) *at = o.dynamic;
    const char *name;
    while (!n->found && (name = entry_name(&o, &at, DT_NEEDED))) {
        n->found = strncmp(name, n->prefix, strlen(n->prefix)) == 0;
        if (n->found)
            snprintf(n->out, n->size, "%s", name);
    }
    return 1;
}

static int visit_named(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct needed *n = arg;
    struct object o;
    if (!info->dlpi_name || strcmp(info->dlpi_name, n->prefix) != 0 || !object_read(&o, info))
        return 0;
    const ElfW(Dyn) *at = o.dynamic;
    const char *name = entry_name(&o, &at, DT_SONAME);
    n->found = name != NULL;
    if (name)
        snprintf(n->out, n->size, "%s", name);
    return 1;
}

bool plt_soname(const char *path, char *out, size_t size)
{
    struct needed n = {path, out, size, false};
    dl_iterate_phdr(visit_named, &n);
    return n.found;
}

bool plt_program_needs(const char *prefix, char *out, size_t size)
{
    struct needed n = {prefix, out, size, false};
    dl_iterate_phdr(visit_program, &n);
    return n.found;
}
