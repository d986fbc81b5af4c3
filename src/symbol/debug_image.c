/* debug_image.c - copying and inflating sections. */
#include "symbol/debug_image.h"

#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

enum { ALIGN = 64, BEHIND = 4096 /* bytes of zeros at the end */ };

static bool is_needed(const struct elf_file *f, const Elf64_Shdr *s)
{
    const char *name = elf_file_name(f, s);
    return s->sh_type != SHT_NOBITS &&
           (elf_file_is_debug(f, s) || s->sh_type == SHT_NOTE || !strcmp(name, ".shstrtab") ||
            !strcmp(name, ".gnu_debugaltlink"));
}

/* True where a section is inflated here; *size gets its size then. libdw does the rest. */
static bool is_packed(const struct elf_file *f, const Elf64_Shdr *s, uint64_t *size)
{
    Elf64_Chdr c;
    if (!(s->sh_flags & SHF_COMPRESSED) || s->sh_size <= sizeof c ||
        !elf_file_copy(f, s->sh_offset, &c, sizeof c) || c.ch_type != ELFCOMPRESS_ZLIB)
        return false;
    *size = c.ch_size;
    return true;
}

/* Inflates a section that lies in the image to `to`; all of it or nothing. */
static bool inflate_section(const struct debug_image *d, const Elf64_Shdr *s, char *to,
                            uint64_t size)
{
    uLongf out = size;
    const Bytef *from = (const Bytef *)d->base + s->sh_offset + sizeof(Elf64_Chdr);
    return uncompress((Bytef *)to, &out, from, s->sh_size - sizeof(Elf64_Chdr)) == Z_OK &&
           out == size;
}

/* The section's header in the image says what is there now. */
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

/* True where a section lies in the file and not over its headers, which it must not hide. */
static bool is_apart(const struct elf_file *f, const Elf64_Shdr *s)
{
    uint64_t table = f->head.e_shoff, end = table + f->section_count * sizeof *s;
    return elf_file_inside(f, s->sh_offset, s->sh_size) && s->sh_offset >= sizeof f->head &&
           (s->sh_offset >= end || s->sh_offset + s->sh_size <= table);
}

static int fill(struct debug_image *d, const struct elf_file *f)
{
    size_t table = f->section_count * sizeof *f->sections;
    uint64_t end = ((uint64_t)f->size + ALIGN) & ~(uint64_t)(ALIGN - 1), size;
    if (!elf_file_copy(f, 0, d->base, sizeof f->head))
        return GPUFL_E_CORRUPT;
    memcpy(d->base + f->head.e_shoff, f->sections, table);
    for (size_t i = 0; i < f->section_count; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (!is_needed(f, s))
            continue;
        if (!is_apart(f, s) ||
            !elf_file_copy(f, s->sh_offset, d->base + s->sh_offset, s->sh_size)) {
            patch_header(d, f, i, 0, 0);
        } else if (is_packed(f, s, &size)) {
            bool good = inflate_section(d, s, d->base + end, size);
            patch_header(d, f, i, good ? end : 0, good ? size : 0);
            end += good ? (size + ALIGN) & ~(uint64_t)(ALIGN - 1) : 0;
        }
    }
    d->size = end;
    return 0;
}

int debug_image_open(struct debug_image *d, const struct elf_file *f, uint64_t max)
{
    uint64_t bytes = elf_file_debug_bytes(f), behind = BEHIND, size;
    *d = (struct debug_image){NULL, 0, 0};
    if (!bytes)
        return GPUFL_E_NOENT;
    for (size_t i = 0; i < f->section_count; i++)
        if (elf_file_is_debug(f, &f->sections[i]) && is_packed(f, &f->sections[i], &size))
            behind += size < max ? size + 2 * ALIGN : 0;
    if (bytes > max)
        return GPUFL_E_FULL;
    size_t mapped = (size_t)f->size + ALIGN + behind;
    void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return GPUFL_E_NOMEM;
    *d = (struct debug_image){base, 0, mapped};
    int code = fill(d, f);
    if (code)
        debug_image_close(d);
    return code;
}

void debug_image_close(struct debug_image *d)
{
    if (d->base)
        munmap(d->base, d->mapped);
    *d = (struct debug_image){NULL, 0, 0};
}
