/* keep_memory.c - finds exported functions of a module, from its mapping.
 *
 * A loaded file's section headers are not in memory, but its dynamic section is, and it leads to
 * the symbol table that the loader uses. The number of symbols is stored nowhere; it is computed
 * from the hash tables. The result has one section of code for each executable segment, and the
 * copied symbols are changed to refer to these sections. */
#include "capture/stacks/keep_elf.h"

#include "base/alloc.h"
#include "stack/common/safe.h"

#include <elf.h>
#include <string.h>

enum {
    SEGMENTS_MOST = 64,
    CODES_MOST = 8, /* executable segments */
    SYMBOLS_MOST = 1 << 20,
    DYNAMIC_MOST = 512,
    NOTE_MOST = 4096, /* bytes of a note */
    NOTES_MOST = 4,
    OTHERS = 3, /* sections other than code and notes */
    ALIGN = 16,
    /* Sections: none, code, then these. */
    FIRST_CODE = 1,
};

static const char section_names[] = "\0.text\0.dynsym\0.dynstr\0.note\0.shstrtab";
enum { NAME_TEXT = 1, NAME_DYNSYM = 7, NAME_DYNSTR = 15, NAME_NOTE = 23, NAME_SHSTRTAB = 29 };

struct segment {
    uint64_t at, size; /* address in the file's numbering */
};

struct loaded {
    const struct stack_module *m;
    Elf64_Ehdr head;
    struct segment code[CODES_MOST], note[NOTES_MOST], dynamic;
    unsigned codes, notes;
    uint64_t symbols, texts, texts_len, gnu, sysv; /* addresses in memory; length */
    uint64_t symbol_count;
};

static bool in_mapping(const struct loaded *l, uint64_t at, uint64_t n)
{
    return at >= l->m->begin && at <= l->m->end && n <= l->m->end - at;
}

static bool read_mapped(const struct loaded *l, uint64_t at, void *to, uint64_t n)
{
    return in_mapping(l, at, n) && safe_read_any(to, (const void *)(uintptr_t)at, (size_t)n);
}

static bool read_segments(struct loaded *l)
{
    Elf64_Phdr all[SEGMENTS_MOST];
    const Elf64_Ehdr *h = &l->head;
    if (!read_mapped(l, l->m->begin, &l->head, sizeof l->head) ||
        memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_phentsize != sizeof *all || !h->e_phnum ||
        h->e_phnum > SEGMENTS_MOST ||
        !read_mapped(l, l->m->begin + h->e_phoff, all, h->e_phnum * sizeof *all))
        return false;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        struct segment s = {all[i].p_vaddr, all[i].p_memsz};
        if (all[i].p_type == PT_LOAD && (all[i].p_flags & PF_X) && l->codes < CODES_MOST)
            l->code[l->codes++] = s;
        if (all[i].p_type == PT_DYNAMIC)
            l->dynamic = s;
        if (all[i].p_type == PT_NOTE && l->notes < NOTES_MOST && s.size <= NOTE_MOST)
            l->note[l->notes++] = s;
    }
    return l->codes && l->dynamic.size;
}

/* Returns the address in an entry of the dynamic section. Most loaders have turned the entry into
 * an address, some leave the offset. */
static uint64_t as_address(const struct loaded *l, uint64_t value)
{
    return value >= l->m->begin ? value : value + l->m->base;
}

static bool read_dynamic(struct loaded *l)
{
    Elf64_Dyn d;
    uint64_t at = l->m->base + l->dynamic.at;
    for (unsigned i = 0; i < DYNAMIC_MOST && (i + 1) * sizeof d <= l->dynamic.size; i++) {
        if (!read_mapped(l, at + i * sizeof d, &d, sizeof d) || d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            l->symbols = as_address(l, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRTAB)
            l->texts = as_address(l, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRSZ)
            l->texts_len = d.d_un.d_val;
        else if (d.d_tag == DT_GNU_HASH)
            l->gnu = as_address(l, d.d_un.d_ptr);
        else if (d.d_tag == DT_HASH)
            l->sysv = as_address(l, d.d_un.d_ptr);
    }
    return l->symbols && l->texts && l->texts_len;
}

/* Returns the number of symbols by the GNU hash table, whose highest symbol ends the chain that
 * begins last. */
static uint64_t count_gnu(const struct loaded *l)
{
    uint32_t head[4], last = 0, hash = 0; /* buckets, first, words, shift */
    if (!read_mapped(l, l->gnu, head, sizeof head) || head[0] > SYMBOLS_MOST ||
        head[2] > SYMBOLS_MOST)
        return 0;
    uint64_t buckets = l->gnu + sizeof head + 8ull * head[2], chain = buckets + 4ull * head[0];
    uint32_t *bucket = mem_array((size_t)head[0] + 1, sizeof *bucket);
    if (bucket && read_mapped(l, buckets, bucket, 4ull * head[0]))
        for (uint32_t i = 0; i < head[0]; i++)
            last = bucket[i] > last ? bucket[i] : last;
    mem_free(bucket);
    if (last < head[1])
        return head[1]; /* nothing is exported */
    for (; !(hash & 1) && last < SYMBOLS_MOST; last++)
        if (!read_mapped(l, chain + 4ull * (last - head[1]), &hash, sizeof hash))
            return 0;
    return last;
}

static bool count_symbols(struct loaded *l)
{
    uint32_t head[2]; /* buckets, symbols */
    if (l->sysv && read_mapped(l, l->sysv, head, sizeof head))
        l->symbol_count = head[1];
    else if (l->gnu)
        l->symbol_count = count_gnu(l);
    return l->symbol_count > 1 && l->symbol_count <= SYMBOLS_MOST;
}

static uint64_t aligned(uint64_t n)
{
    return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* Makes a function's symbol refer to the section of its segment. */
static void settle_symbol(const struct loaded *l, Elf64_Sym *s)
{
    uint16_t in = SHN_ABS;
    if (s->st_shndx == SHN_UNDEF)
        return;
    for (unsigned i = 0; i < l->codes; i++)
        if (s->st_value - l->code[i].at < l->code[i].size)
            in = (uint16_t)(FIRST_CODE + i);
    s->st_shndx = in;
}

static void put_section(char *bytes, unsigned i, Elf64_Shdr s)
{
    memcpy(bytes + aligned(sizeof(Elf64_Ehdr)) + i * sizeof s, &s, sizeof s);
}

/* Returns the number of bytes before the first section's. */
static uint64_t head_bytes(const struct loaded *l)
{
    unsigned count = FIRST_CODE + l->codes + l->notes + OTHERS;
    return aligned(aligned(sizeof(Elf64_Ehdr)) + count * sizeof(Elf64_Shdr));
}

static void put_head(const struct loaded *l, char *bytes)
{
    Elf64_Ehdr head = l->head;
    head.e_phoff = head.e_phnum = 0;
    head.e_shoff = aligned(sizeof head);
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = (uint16_t)(FIRST_CODE + l->codes + l->notes + OTHERS);
    head.e_shstrndx = (uint16_t)(head.e_shnum - 1);
    memcpy(bytes, &head, sizeof head);
    for (unsigned i = 0; i < l->codes; i++)
        put_section(bytes, FIRST_CODE + i,
                    (Elf64_Shdr){.sh_name = NAME_TEXT,
                                 .sh_type = SHT_NOBITS,
                                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                 .sh_addr = l->code[i].at,
                                 .sh_offset = head_bytes(l),
                                 .sh_size = l->code[i].size});
}

/* Writes the sections that have bytes; all except the last one, the names, come from memory. bytes:
 * NULL to compute only the size, *end. */
static bool put_bytes(const struct loaded *l, char *bytes, uint64_t *end)
{
    unsigned first = FIRST_CODE + l->codes, count = l->notes + OTHERS;
    Elf64_Shdr rows[NOTES_MOST + OTHERS] = {
        {.sh_name = NAME_DYNSYM,
         .sh_type = SHT_DYNSYM,
         .sh_size = l->symbol_count * sizeof(Elf64_Sym),
         .sh_link = first + 1,
         .sh_entsize = sizeof(Elf64_Sym)},
        {.sh_name = NAME_DYNSTR, .sh_type = SHT_STRTAB, .sh_size = l->texts_len},
    };
    uint64_t from[NOTES_MOST + OTHERS] = {l->symbols, l->texts};
    for (unsigned i = 0; i < l->notes; i++) {
        rows[2 + i] =
            (Elf64_Shdr){.sh_name = NAME_NOTE, .sh_type = SHT_NOTE, .sh_size = l->note[i].size};
        from[2 + i] = l->m->base + l->note[i].at;
    }
    rows[count - 1] = (Elf64_Shdr){
        .sh_name = NAME_SHSTRTAB, .sh_type = SHT_STRTAB, .sh_size = sizeof section_names};
    *end = head_bytes(l);
    for (unsigned i = 0; i < count; i++) {
        rows[i].sh_offset = *end;
        if (bytes && i == count - 1)
            memcpy(bytes + *end, section_names, sizeof section_names);
        else if (bytes && rows[i].sh_size &&
                 !read_mapped(l, from[i], bytes + *end, rows[i].sh_size))
            return false;
        if (bytes)
            put_section(bytes, first + i, rows[i]);
        *end += aligned(rows[i].sh_size);
    }
    return true;
}

static void settle_symbols(const struct loaded *l, char *symbols)
{
    Elf64_Sym one;
    for (uint64_t i = 0; i < l->symbol_count; i++) {
        memcpy(&one, symbols + i * sizeof one, sizeof one);
        settle_symbol(l, &one);
        memcpy(symbols + i * sizeof one, &one, sizeof one);
    }
}

int keep_elf_memory(const struct stack_module *m, size_t most, struct keep_image *out)
{
    struct loaded l = {.m = m};
    uint64_t size;
    *out = (struct keep_image){0};
    if (!read_segments(&l) || !read_dynamic(&l) || !count_symbols(&l) ||
        !in_mapping(&l, l.texts, l.texts_len))
        return GPUFL_E_NOENT;
    put_bytes(&l, NULL, &size);
    if (size > most)
        return GPUFL_E_FULL;
    out->bytes = mem_zalloc((size_t)size);
    if (!out->bytes)
        return GPUFL_E_NOMEM;
    out->size = (size_t)size;
    out->exported = true;
    put_head(&l, out->bytes);
    if (put_bytes(&l, out->bytes, &size)) {
        settle_symbols(&l, out->bytes + head_bytes(&l));
        return 0;
    }
    mem_free(out->bytes);
    *out = (struct keep_image){0};
    return GPUFL_E_CORRUPT;
}
