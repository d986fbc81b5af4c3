/* dynsym.c - reads the hash tables of loaded files, as the loader reads them.
 *
 * dl_iterate_phdr takes a lock that the loader holds only briefly, while it changes its list; a
 * file in the list is mapped. No pointer is kept. */
#include "stack/python/dynsym.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* Holds the tables of a file's dynamic section; NULL: it has none. */
struct tables {
    const ElfW(Sym) * symbols;
    const char *texts;
    const uint32_t *gnu, *sysv; /* hash tables */
};

struct asked {
    const char *name;
    uint32_t gnu, sysv; /* its hashes */
};

static bool tables_read(struct tables *t, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *d = NULL;
    *t = (struct tables){NULL, NULL, NULL, NULL};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++) {
        /* The loader has changed offsets into addresses, except in the vDSO of the kernel. */
        uintptr_t at =
            d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr + d->d_un.d_ptr : d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB)
            t->symbols = (const ElfW(Sym) *)at;
        else if (d->d_tag == DT_STRTAB)
            t->texts = (const char *)at;
        else if (d->d_tag == DT_GNU_HASH)
            t->gnu = (const uint32_t *)at;
        else if (d->d_tag == DT_HASH)
            t->sysv = (const uint32_t *)at;
    }
    return t->symbols && t->texts;
}

static bool is_symbol(const struct tables *t, uint32_t i, const struct asked *a)
{
    const ElfW(Sym) *s = &t->symbols[i];
    return s->st_shndx != SHN_UNDEF && strcmp(t->texts + s->st_name, a->name) == 0;
}

static bool find_gnu(const struct tables *t, const struct asked *a)
{
    enum { WORD = 8 * sizeof(ElfW(Addr)) };
    uint32_t buckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2], shift = t->gnu[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(t->gnu + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + words);
    if (!buckets || !words)
        return false;
    ElfW(Addr) word = bloom[a->gnu / WORD % words];
    if (!(word >> a->gnu % WORD & word >> (a->gnu >> shift) % WORD & 1))
        return false;
    uint32_t i = bucket[a->gnu % buckets];
    const uint32_t *chain = bucket + buckets;
    for (; i >= first; i++) {
        uint32_t hash = chain[i - first];
        if ((hash | 1) == (a->gnu | 1) && is_symbol(t, i, a))
            return true;
        if (hash & 1) /* the last of its bucket */
            return false;
    }
    return false;
}

static bool find_sysv(const struct tables *t, const struct asked *a)
{
    uint32_t buckets = t->sysv[0], symbols = t->sysv[1];
    const uint32_t *bucket = t->sysv + 2, *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[a->sysv % buckets] : 0;
    for (uint32_t steps = 0; i && i < symbols && steps < symbols; steps++, i = chain[i])
        if (is_symbol(t, i, a))
            return true;
    return false;
}

/* Returns 1, which ends the search, if the file defines the symbol. */
static int look_in(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct tables t;
    (void)size;
    if (!tables_read(&t, info))
        return 0;
    return t.gnu ? find_gnu(&t, arg) : t.sysv && find_sysv(&t, arg);
}

bool dynsym_is_defined(const char *name)
{
    struct asked a = {.name = name, .gnu = 5381};
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        a.gnu = a.gnu * 33 + *c;
        a.sysv = (a.sysv << 4) + *c;
        a.sysv = (a.sysv ^ (a.sysv >> 24 & 0xf0)) & 0x0fffffff;
    }
    return dl_iterate_phdr(look_in, &a) != 0;
}
