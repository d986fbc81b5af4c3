/* symbols.c - see symbols.h. */
#include "symbol/cubin/symbols.h"

#include "base/alloc.h"
#include "symbol/elf/file.h"

#include <string.h>

enum { TABLE_MAX = 1 << 28 }; /* bytes of symbols, and of their names */

int cubin_symbols_open(struct cubin_symbols *s, const char *path, struct err *e)
{
    struct elf_file f;
    size_t len;
    memset(s, 0, sizeof *s);
    int rc = elf_file_open(&f, path, e);
    if (rc)
        return rc;
    const Elf64_Shdr *h = elf_file_section(&f, ".symtab");
    if (h && h->sh_link < f.section_count) {
        s->table = elf_file_read(&f, h, TABLE_MAX, &len);
        s->names = elf_file_read(&f, &f.sections[h->sh_link], TABLE_MAX, &s->names_len);
        s->count = s->table && s->names ? len / sizeof(Elf64_Sym) : 0;
    }
    elf_file_close(&f);
    return 0;
}

void cubin_symbols_close(struct cubin_symbols *s)
{
    mem_free(s->table);
    mem_free(s->names);
    memset(s, 0, sizeof *s);
}

uint32_t cubin_symbols_find(const struct cubin_symbols *s, const char *name)
{
    for (size_t i = 1; i < s->count && i <= UINT32_MAX; i++) {
        Elf64_Sym one;
        memcpy(&one, s->table + i * sizeof one, sizeof one);
        if (ELF64_ST_TYPE(one.st_info) == STT_FUNC && one.st_shndx != SHN_UNDEF &&
            one.st_name < s->names_len && strcmp(s->names + one.st_name, name) == 0)
            return (uint32_t)i;
    }
    return 0;
}
