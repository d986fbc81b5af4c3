/* debug_image.c - copies and unpacks sections. */
#include "symbol/elf/debug_image.h"

#include "symbol/elf/unpack.h"

#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, SPARE = 4096 /* bytes of zeros at the end */ };

static bool is_needed(const struct elf_file *f, const Elf64_Shdr *s)
{
    const char *name = elf_file_name(f, s);
    return s->sh_type != SHT_NOBITS &&
           (elf_file_is_debug(f, s) || s->sh_type == SHT_NOTE || !strcmp(name, ".shstrtab") ||
            !strcmp(name, ".gnu_debugaltlink"));
}

/* Reads the header of a compressed section. False: it is not compressed, or its header is
 * unreadable. */
static bool packed_as(const struct elf_file *f, const Elf64_Shdr *s, Elf64_Chdr *c)
{
    return (s->sh_flags & SHF_COMPRESSED) && s->sh_size > sizeof *c &&
           elf_file_copy(f, s->sh_offset, c, sizeof *c);
}

/* Changes the section's header in the image to the section's new place and size. */
static void patch_header(const struct debug_image *d, const struct elf_file *f, size_t index,
                         uint64_t offset, uint64_t size)
{
    Elf64_Shdr s = f->sections[index];
    s.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
    s.sh_offset = offset;
    s.sh_size = size;
    s.sh_addralign = 1;
    memcpy(d->base + f->head.e_shoff + index * sizeof s, &s, sizeof s);
}

/* Returns true if a section is within the file and does not overlap its headers, which must stay
 * readable. */
static bool is_apart(const struct elf_file *f, const Elf64_Shdr *s)
{
    uint64_t table = f->head.e_shoff, end = table + f->section_count * sizeof *s;
    return elf_file_inside(f, s->sh_offset, s->sh_size) && s->sh_offset >= sizeof f->head &&
           (s->sh_offset >= end || s->sh_offset + s->sh_size <= table);
}

/* Unpacks section i of the image, up to `end`. A section that must not or cannot be unpacked
 * becomes empty. The file may have changed: the size may differ from the one that was measured. */
static void unpack_to(const struct debug_image *d, const struct elf_file *f, size_t i,
                      const Elf64_Chdr *c, uint64_t *end)
{
    const Elf64_Shdr *s = &f->sections[i];
    uint64_t most = d->mapped - SPARE, size = c->ch_size;
    const char *from = d->base + s->sh_offset + sizeof *c;
    if (!elf_file_is_debug(f, s) || *end > most || size > most - *end ||
        !unpack_section(c->ch_type, d->base + *end, size, from, s->sh_size - sizeof *c)) {
        patch_header(d, f, i, 0, 0);
        return;
    }
    patch_header(d, f, i, *end, size);
    *end += (size + ALIGN) & ~(uint64_t)(ALIGN - 1);
}

static int fill(struct debug_image *d, const struct elf_file *f)
{
    size_t table = f->section_count * sizeof *f->sections;
    uint64_t end = ((uint64_t)f->size + ALIGN) & ~(uint64_t)(ALIGN - 1);
    Elf64_Chdr c;
    if (!elf_file_copy(f, 0, d->base, sizeof f->head))
        return GPUFL_E_CORRUPT;
    memcpy(d->base + f->head.e_shoff, f->sections, table);
    for (size_t i = 0; i < f->section_count; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (!is_needed(f, s))
            continue;
        if (!is_apart(f, s) || !elf_file_copy(f, s->sh_offset, d->base + s->sh_offset, s->sh_size))
            patch_header(d, f, i, 0, 0);
        else if (packed_as(f, s, &c) && !(elf_file_is_debug(f, s) && !unpack_can(c.ch_type)))
            unpack_to(d, f, i, &c, &end);
    }
    d->size = end;
    return 0;
}

int debug_image_open(struct debug_image *d, const struct elf_file *f, uint64_t max)
{
    uint64_t bytes = elf_file_debug_bytes(f), spare = SPARE;
    Elf64_Chdr c;
    *d = (struct debug_image){NULL, 0, 0};
    if (!bytes)
        return GPUFL_E_NOENT;
    for (size_t i = 0; i < f->section_count; i++)
        if (elf_file_is_debug(f, &f->sections[i]) && packed_as(f, &f->sections[i], &c))
            spare += c.ch_size < max ? c.ch_size + 2 * ALIGN : 0;
    if (bytes > max)
        return GPUFL_E_FULL;
    size_t mapped = (size_t)f->size + ALIGN + spare;
    void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return GPUFL_E_NOMEM;
    *d = (struct debug_image){base, 0, mapped};
    int rc = fill(d, f);
    if (rc)
        debug_image_close(d);
    return rc;
}

void debug_image_close(struct debug_image *d)
{
    if (d->base)
        munmap(d->base, d->mapped);
    *d = (struct debug_image){NULL, 0, 0};
}
