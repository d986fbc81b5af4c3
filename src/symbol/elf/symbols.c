/* symbols.c - makes a sorted array of a symbol table. */
#include "symbol/elf/symbols.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_MAX = 1 << 29 }; /* bytes of symbols, and of their names */

static int by_address(const void *a, const void *b)
{
    const struct elf_symbol *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return ORDER(x->name, y->name);
}

/* Returns true for code of this file, by the section's flags if the file has sections; also in
 * debug files.
 */
static bool is_code(const struct elf_file *f, const Elf64_Sym *s)
{
    return s->st_shndx != SHN_UNDEF && s->st_shndx < f->section_count &&
           (f->sections[s->st_shndx].sh_flags & SHF_EXECINSTR);
}

static bool is_function(const struct elf_file *f, const Elf64_Sym *s, const char *name)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    /* no type: a label of an assembler file, unless it is a mark that compilers leave */
    if (type == STT_NOTYPE &&
        (*name == '$' || *name == '.' || ELF64_ST_BIND(s->st_info) == STB_LOCAL))
        return false;
    return *name && is_code(f, s);
}

/* Ranks global names before weak and local ones, public spellings before __those. */
static uint8_t rank_of(const Elf64_Sym *s, const char *name)
{
    unsigned bind = ELF64_ST_BIND(s->st_info);
    unsigned underscores = (unsigned)strspn(name, "_");
    bool mangled = !strncmp(name, "_Z", 2);
    unsigned rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
    return (uint8_t)(rank * 4 + (mangled ? 0 : underscores > 3 ? 3 : underscores));
}

static uint64_t section_end(const struct elf_file *f, const Elf64_Sym *s)
{
    const Elf64_Shdr *h = &f->sections[s->st_shndx];
    return h->sh_addr + h->sh_size;
}

/* Keeps one symbol per address, that with the best rank. A symbol without a size reaches to the
 * next symbol. */
static void settle(struct elf_symbols *s)
{
    size_t kept = 0;
    qsort(s->items, s->count, sizeof *s->items, by_address);
    for (size_t i = 0; i < s->count; i++) {
        struct elf_symbol *last = kept ? &s->items[kept - 1] : NULL;
        if (last && last->begin == s->items[i].begin) {
            if (s->items[i].end > last->end)
                last->end = s->items[i].end;
            continue;
        }
        if (last && last->end > s->items[i].begin)
            last->end = s->items[i].begin;
        s->items[kept++] = s->items[i];
    }
    s->count = kept;
}

int elf_symbols_read(struct elf_symbols *s, const struct elf_file *f, bool dynamic)
{
    size_t len, names_len;
    memset(s, 0, sizeof *s);
    const Elf64_Shdr *h = elf_file_section(f, dynamic ? ".dynsym" : ".symtab");
    if (!h || h->sh_link >= f->section_count)
        return 0;
    char *table = elf_file_read(f, h, TABLE_MAX, &len);
    s->names = elf_file_read(f, &f->sections[h->sh_link], TABLE_MAX, &names_len);
    size_t count = table && s->names ? len / sizeof(Elf64_Sym) : 0;
    s->items = count ? mem_array(count, sizeof *s->items) : NULL;
    for (size_t i = 0; s->items && i < count; i++) {
        Elf64_Sym one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        const char *name = one.st_name < names_len ? s->names + one.st_name : "";
        if (!is_function(f, &one, name) || one.st_size > UINT64_MAX - one.st_value)
            continue;
        uint64_t end = one.st_size ? one.st_value + one.st_size : section_end(f, &one);
        if (end > one.st_value)
            s->items[s->count++] =
                (struct elf_symbol){one.st_value, end, one.st_name, rank_of(&one, name)};
    }
    mem_free(table);
    if (count && !s->items)
        return GPUFL_E_NOMEM;
    if (s->items && s->count)
        settle(s);
    return 0;
}

void elf_symbols_fini(struct elf_symbols *s)
{
    mem_free(s->items);
    mem_free(s->names);
    memset(s, 0, sizeof *s);
}

const char *elf_symbols_find(const struct elf_symbols *s, uint64_t address)
{
    size_t low = 0, high = s->count;
    while (low < high) { /* the first that begins after the address */
        size_t mid = low + (high - low) / 2;
        if (s->items[mid].begin <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || address >= s->items[low - 1].end)
        return NULL;
    return s->names + s->items[low - 1].name;
}
