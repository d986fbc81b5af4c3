/* elf_functions.c - see elf_functions.h. */
#include "backend/amd/trace/elf_functions.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS_MOST = 1 << 18 };

struct image {
    const uint8_t *bytes;
    size_t size;
};

/* Returns a part of the file; NULL: it is not wholly in the file. */
static const uint8_t *part(const struct image *f, uint64_t at, uint64_t size)
{
    return at <= f->size && size <= f->size - at ? f->bytes + at : NULL;
}

static bool section_at(const struct image *f, const Elf64_Ehdr *head, size_t i, Elf64_Shdr *out)
{
    const uint8_t *at =
        i < head->e_shnum ? part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof *out) : NULL;
    if (at)
        memcpy(out, at + i * sizeof *out, sizeof *out);
    return at != NULL;
}

static int compare(const void *a, const void *b)
{
    const struct elf_function *x = a, *y = b;
    return ORDER(x->address, y->address);
}

/* Returns the name of a symbol; NULL: there is none, or no NUL ends it. */
static const char *name_at(const uint8_t *names, size_t size, uint32_t at)
{
    const char *name = at < size ? (const char *)names + at : NULL;
    return name && *name && memchr(name, '\0', size - at) ? name : NULL;
}

static int add(struct elf_functions *out, size_t *cap, const Elf64_Sym *s, const char *name)
{
    int rc = mem_grow(&out->items, cap, out->count + 1, sizeof *out->items, SYMBOLS_MOST);
    char *copy = rc ? NULL : mem_strdup(name);
    if (!copy)
        return GPUFL_E_NOMEM;
    out->items[out->count++] = (struct elf_function){s->st_value, s->st_size, copy};
    return 0;
}

static int read_table(const struct image *f, const Elf64_Ehdr *head, const Elf64_Shdr *table,
                      struct elf_functions *out)
{
    Elf64_Shdr strings;
    Elf64_Sym s;
    size_t cap = 0;
    int rc = 0;
    const uint8_t *at = part(f, table->sh_offset, table->sh_size);
    const uint8_t *names = section_at(f, head, table->sh_link, &strings)
                               ? part(f, strings.sh_offset, strings.sh_size)
                               : NULL;
    for (size_t i = 0; !rc && at && names && i < table->sh_size / sizeof s; i++) {
        memcpy(&s, at + i * sizeof s, sizeof s);
        bool function = ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF;
        const char *name = function ? name_at(names, strings.sh_size, s.st_name) : NULL;
        if (name && s.st_size)
            rc = add(out, &cap, &s, name);
    }
    return rc;
}

/* Reads the table of all symbols, which contains the exported ones, or else that of the exported
 * symbols. */
static int read_tables(const struct image *f, const Elf64_Ehdr *head, struct elf_functions *out)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    Elf64_Shdr section;
    int rc = 0;
    for (size_t t = 0; !rc && !out->count && t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; !rc && !out->count && section_at(f, head, i, &section); i++)
            if (section.sh_type == types[t])
                rc = read_table(f, head, &section, out);
    return rc;
}

int elf_functions_read(const void *elf, size_t size, struct elf_functions *out)
{
    const struct image f = {elf, size};
    Elf64_Ehdr head;
    *out = (struct elf_functions){0};
    if (size < sizeof head)
        return GPUFL_E_CORRUPT;
    memcpy(&head, elf, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr))
        return GPUFL_E_CORRUPT;
    int rc = read_tables(&f, &head, out);
    if (!rc && !out->count)
        rc = GPUFL_E_CORRUPT;
    if (rc)
        elf_functions_free(out);
    else
        qsort(out->items, out->count, sizeof *out->items, compare);
    return rc;
}

void elf_functions_free(struct elf_functions *s)
{
    for (size_t i = 0; i < s->count; i++)
        mem_free(s->items[i].name);
    mem_free(s->items);
    *s = (struct elf_functions){0};
}

const struct elf_function *elf_functions_at(const struct elf_functions *s, uint64_t address)
{
    size_t after = ORDER_PLACE(s->count, i, s->items[i].address <= address);
    const struct elf_function *last = after ? &s->items[after - 1] : NULL;
    return last && address - last->address < last->size ? last : NULL;
}
