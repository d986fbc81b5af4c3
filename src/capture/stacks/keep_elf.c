/* keep_elf.c - copies the sections that name functions and lines; of the others only headers stay.
 *
 * Every section keeps its number, because symbols name their section by number. A section that is
 * left out becomes SHT_NOBITS, with its address and flags, which show readers which symbols are
 * code. */
#include "capture/stacks/keep_elf.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SECTIONS_MOST = 4096,
    NAMES_MOST = 1 << 20, /* bytes of the sections' names */
    ALIGN = 16,
};

/* Ranks sections by their worth, greatest first. */
enum worth { WORTH_NEEDED, WORTH_EXPORTED, WORTH_NAMES, WORTH_LINES, WORTH_NOTHING };

struct source {
    int fd;
    uint64_t size;
    Elf64_Ehdr head;
    Elf64_Shdr *sections; /* owned */
    size_t count;
    char *names; /* owned, with a NUL at its end */
    size_t names_len;
};

static bool copy_from(const struct source *f, uint64_t at, void *to, size_t n)
{
    return at <= f->size && n <= f->size - at && file_read_at(f->fd, at, to, n);
}

static int read_sections(struct source *f)
{
    const Elf64_Ehdr *h = &f->head;
    if (!copy_from(f, 0, &f->head, sizeof f->head) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || (h->e_type != ET_EXEC && h->e_type != ET_DYN))
        return GPUFL_E_CORRUPT;
    if (!h->e_shoff || !h->e_shnum)
        return GPUFL_E_NOENT;
    if (h->e_shentsize != sizeof *f->sections || h->e_shnum > SECTIONS_MOST ||
        h->e_shstrndx >= h->e_shnum)
        return GPUFL_E_CORRUPT;
    f->count = h->e_shnum;
    f->sections = mem_array(f->count, sizeof *f->sections);
    if (!f->sections)
        return GPUFL_E_NOMEM;
    if (!copy_from(f, h->e_shoff, f->sections, f->count * sizeof *f->sections))
        return GPUFL_E_CORRUPT;
    const Elf64_Shdr *s = &f->sections[h->e_shstrndx];
    if (s->sh_type == SHT_NOBITS || s->sh_size > NAMES_MOST)
        return GPUFL_E_CORRUPT;
    f->names = mem_zalloc((size_t)s->sh_size + 1);
    f->names_len = (size_t)s->sh_size + 1;
    if (!f->names)
        return GPUFL_E_NOMEM;
    return copy_from(f, s->sh_offset, f->names, (size_t)s->sh_size) ? 0 : GPUFL_E_CORRUPT;
}

static enum worth worth_of(const struct source *f, size_t i)
{
    static const struct {
        const char *name;
        bool begins;
        enum worth worth;
    } rows[] = {
        {".gnu_debuglink", false, WORTH_NEEDED}, {".gnu_debugaltlink", false, WORTH_NEEDED},
        {".dynsym", false, WORTH_EXPORTED},      {".dynstr", false, WORTH_EXPORTED},
        {".symtab", false, WORTH_NAMES},         {".strtab", false, WORTH_NAMES},
        {".gnu_debugdata", false, WORTH_NAMES},  {".debug_", true, WORTH_LINES},
        {".zdebug_", true, WORTH_LINES},
    };
    const Elf64_Shdr *s = &f->sections[i];
    const char *name = s->sh_name < f->names_len ? f->names + s->sh_name : "";
    if (s->sh_type == SHT_NULL || s->sh_type == SHT_NOBITS || s->sh_offset > f->size ||
        s->sh_size > f->size - s->sh_offset)
        return WORTH_NOTHING;
    if (s->sh_type == SHT_NOTE || i == f->head.e_shstrndx)
        return WORTH_NEEDED;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].begins ? !strncmp(name, rows[k].name, strlen(rows[k].name))
                           : !strcmp(name, rows[k].name))
            return rows[k].worth;
    return WORTH_NOTHING;
}

static uint64_t aligned(uint64_t n)
{
    return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* Returns the number of bytes of an image with all sections of at least that worth. The sum never
 * exceeds SIZE_MAX, because each section lies in the file and there are few. */
static uint64_t bytes_with(const struct source *f, enum worth least)
{
    uint64_t all = aligned(sizeof f->head) + f->count * sizeof *f->sections;
    for (size_t i = 0; i < f->count; i++)
        if (worth_of(f, i) <= least)
            all += aligned(f->sections[i].sh_size);
    return all;
}

static bool has_worth(const struct source *f, enum worth w)
{
    for (size_t i = 0; i < f->count; i++)
        if (worth_of(f, i) == w)
            return true;
    return false;
}

static int fill(const struct source *f, enum worth least, struct keep_image *out)
{
    Elf64_Ehdr head = f->head;
    uint64_t at = aligned(sizeof head), table = at + f->count * sizeof(Elf64_Shdr);
    head.e_phoff = head.e_phnum = 0;
    head.e_shoff = at;
    memcpy(out->bytes, &head, sizeof head);
    uint64_t end = aligned(table);
    for (size_t i = 0; i < f->count; i++) {
        Elf64_Shdr s = f->sections[i];
        if (worth_of(f, i) <= least) {
            if (!copy_from(f, s.sh_offset, out->bytes + end, (size_t)s.sh_size))
                return GPUFL_E_CORRUPT;
            s.sh_offset = end;
            end += aligned(s.sh_size);
        } else if (s.sh_type != SHT_NULL) {
            s.sh_type = SHT_NOBITS;
            s.sh_offset = table;
        }
        memcpy(out->bytes + at + i * sizeof s, &s, sizeof s);
    }
    return 0;
}

static int make(const struct source *f, size_t most, struct keep_image *out)
{
    enum worth least = WORTH_LINES;
    if (!has_worth(f, WORTH_EXPORTED) && !has_worth(f, WORTH_NAMES) && !has_worth(f, WORTH_LINES))
        return GPUFL_E_NOENT;
    while (least > WORTH_NEEDED && bytes_with(f, least) + ALIGN > most)
        least--;
    if (least == WORTH_NEEDED)
        return GPUFL_E_FULL;
    out->whole = least == WORTH_LINES || bytes_with(f, least) == bytes_with(f, WORTH_LINES);
    out->size = (size_t)bytes_with(f, least) + ALIGN;
    out->bytes = mem_zalloc(out->size);
    return out->bytes ? fill(f, least, out) : GPUFL_E_NOMEM;
}

int keep_elf_file(int fd, size_t most, struct keep_image *out)
{
    struct source f = {.fd = fd};
    struct stat st;
    *out = (struct keep_image){0};
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return GPUFL_E_CORRUPT;
    f.size = (uint64_t)st.st_size;
    int rc = read_sections(&f);
    rc = rc ? rc : make(&f, most, out);
    if (rc) {
        mem_free(out->bytes);
        *out = (struct keep_image){0};
    }
    mem_free(f.sections);
    mem_free(f.names);
    return rc;
}
