/* symbols.c - see symbols.h. */
#include "symbol/device/symbols.h"

#include "base/alloc.h"
#include "symbol/elf/file.h"

#include <string.h>

enum { TABLE_MAX = 1 << 28 }; /* bytes of symbols, and of their names */

int code_symbols_open(struct code_symbols *s, const char *path, struct err *e)
{
    struct elf_file f;
    size_t len;
    memset(s, 0, sizeof *s);
    int rc = elf_file_open(&f, path, e);
    if (rc)
        return rc;
    const Elf64_Shdr *h = elf_file_section(&f, ".symtab");
    if (!h)
        h = elf_file_section(&f, ".dynsym");
    if (h && h->sh_link < f.section_count) {
        s->table = elf_file_read(&f, h, TABLE_MAX, &len);
        s->names = elf_file_read(&f, &f.sections[h->sh_link], TABLE_MAX, &s->names_len);
        s->count = s->table && s->names ? len / sizeof(Elf64_Sym) : 0;
    }
    elf_file_close(&f);
    return 0;
}

void code_symbols_close(struct code_symbols *s)
{
    mem_free(s->table);
    mem_free(s->names);
    memset(s, 0, sizeof *s);
}

uint32_t code_symbols_find(const struct code_symbols *s, const char *name)
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

const char *code_symbols_at(const struct code_symbols *s, uint32_t number, Elf64_Sym *out)
{
    if (!number || number >= s->count)
        return NULL;
    memcpy(out, s->table + (size_t)number * sizeof *out, sizeof *out);
    return out->st_name && out->st_name < s->names_len && s->names[out->st_name]
               ? s->names + out->st_name
               : NULL;
}
