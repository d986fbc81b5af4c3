/* file.c - reads the header, section table and notes of an ELF file. */
#include "symbol/elf/file.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECTIONS_MAX = 1 << 20,
    SEGMENTS_MAX = 1 << 12,
    NAMES_MAX = 16 << 20, /* bytes of all sections' names */
    NOTES_MAX = 1 << 16,  /* bytes of a section or segment of notes */
    ID_MAX = (ELF_ID_ROOM - 1) / 2,
};

enum { AMDGPU = 224 }; /* EM_AMDGPU, which older headers lack */

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_AARCH64
#endif

/* ---- reading --------------------------------------------------------------------------- */

bool elf_file_inside(const struct elf_file *f, uint64_t offset, uint64_t len)
{
    return offset <= (uint64_t)f->size && len <= (uint64_t)f->size - offset;
}

bool elf_file_copy(const struct elf_file *f, uint64_t offset, void *to, size_t n)
{
    return elf_file_inside(f, offset, n) && file_read_at(f->fd, offset, to, n);
}

/* Reads bytes into new memory, with a NUL after them. */
static char *read_new(const struct elf_file *f, uint64_t offset, uint64_t n, size_t max)
{
    if (n > max || !elf_file_inside(f, offset, n))
        return NULL;
    char *data = mem_alloc((size_t)n + 1);
    if (data && !elf_file_copy(f, offset, data, (size_t)n)) {
        mem_free(data);
        return NULL;
    }
    if (data)
        data[n] = '\0';
    return data;
}

/* ---- notes ----------------------------------------------------------------------------- */

static void put_hex(char *out, const unsigned char *id, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[id[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    out[2 * n] = '\0';
}

/* Finds the build id among notes; parts of a note are padded to 4 bytes, also in segments of 8. */
static void scan_notes(struct elf_file *f, const char *notes, size_t len)
{
    size_t at = 0;
    while (len - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n;
        memcpy(&n, notes + at, sizeof n);
        at += sizeof n;
        size_t name = ((size_t)n.n_namesz + 3) & ~(size_t)3,
               desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
        if (name > len - at || n.n_descsz > len - at - name)
            return;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) &&
            n.n_descsz && n.n_descsz <= ID_MAX) {
            put_hex(f->build_id, (const unsigned char *)notes + at + name, n.n_descsz);
            return;
        }
        at += name;
        at += desc < len - at ? desc : len - at;
    }
}

static void scan_notes_at(struct elf_file *f, uint64_t offset, uint64_t size)
{
    char *notes = *f->build_id ? NULL : read_new(f, offset, size, NOTES_MAX);
    if (notes)
        scan_notes(f, notes, (size_t)size);
    mem_free(notes);
}

/* Reads the build id from segments, which every loaded file has, else from sections: a debug file
 * has the notes, but its segments do not point to them. */
static void find_build_id(struct elf_file *f)
{
    for (unsigned i = 0; i < f->head.e_phnum && i < SEGMENTS_MAX && !*f->build_id; i++) {
        Elf64_Phdr p;
        if (!elf_file_copy(f, f->head.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            break;
        if (p.p_type == PT_NOTE)
            scan_notes_at(f, p.p_offset, p.p_filesz);
    }
    for (size_t i = 0; i < f->section_count && !*f->build_id; i++)
        if (f->sections[i].sh_type == SHT_NOTE)
            scan_notes_at(f, f->sections[i].sh_offset, f->sections[i].sh_size);
}

/* ---- sections -------------------------------------------------------------------------- */

/* Reads the section table. A file with a damaged table is read like a file without one. */
static void read_sections(struct elf_file *f)
{
    Elf64_Shdr first;
    const Elf64_Ehdr *h = &f->head;
    if (!h->e_shoff || h->e_shentsize != sizeof first ||
        !elf_file_copy(f, h->e_shoff, &first, sizeof first))
        return;
    uint64_t count = h->e_shnum ? h->e_shnum : first.sh_size;
    uint32_t names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
    if (!count || count > SECTIONS_MAX || names >= count)
        return;
    f->sections = (Elf64_Shdr *)read_new(f, h->e_shoff, count * sizeof first,
                                         (size_t)SECTIONS_MAX * sizeof first);
    if (!f->sections)
        return;
    const Elf64_Shdr *s = &f->sections[names];
    f->names = s->sh_type == SHT_NOBITS ? NULL : read_new(f, s->sh_offset, s->sh_size, NAMES_MAX);
    f->names_len = f->names ? (size_t)s->sh_size + 1 : 0;
    f->section_count = f->names ? (size_t)count : 0;
}

const char *elf_file_name(const struct elf_file *f, const Elf64_Shdr *s)
{
    return s->sh_name < f->names_len ? f->names + s->sh_name : "";
}

const Elf64_Shdr *elf_file_section(const struct elf_file *f, const char *name)
{
    for (size_t i = 0; i < f->section_count; i++)
        if (!strcmp(elf_file_name(f, &f->sections[i]), name))
            return &f->sections[i];
    return NULL;
}

char *elf_file_read(const struct elf_file *f, const Elf64_Shdr *s, size_t max, size_t *len)
{
    *len = 0;
    if (!s || s->sh_type == SHT_NOBITS || (s->sh_flags & SHF_COMPRESSED))
        return NULL;
    char *data = read_new(f, s->sh_offset, s->sh_size, max);
    *len = data ? (size_t)s->sh_size : 0;
    return data;
}

/* Returns the size of a section when decompressed, as its header gives it; so much memory is
 * allocated. */
static uint64_t plain_size(const struct elf_file *f, const Elf64_Shdr *s)
{
    if (s->sh_flags & SHF_COMPRESSED) {
        Elf64_Chdr c;
        return elf_file_copy(f, s->sh_offset, &c, sizeof c) ? c.ch_size : 0;
    }
    unsigned char old[12]; /* "ZLIB" and the size, highest byte first */
    if (!strncmp(elf_file_name(f, s), ".zdebug_", 8) &&
        elf_file_copy(f, s->sh_offset, old, sizeof old)) {
        uint64_t size = 0;
        for (int i = 4; i < 12; i++)
            size = size << 8 | old[i];
        return size;
    }
    return s->sh_size;
}

bool elf_file_is_debug(const struct elf_file *f, const Elf64_Shdr *s)
{
    const char *name = elf_file_name(f, s);
    return s->sh_type != SHT_NOBITS &&
           (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8));
}

uint64_t elf_file_debug_bytes(const struct elf_file *f)
{
    uint64_t all = 0;
    for (size_t i = 0; i < f->section_count; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        uint64_t size = elf_file_is_debug(f, s) ? plain_size(f, s) : 0;
        all = size > UINT64_MAX - all ? UINT64_MAX : all + size;
    }
    return all;
}

bool elf_file_debuglink(const struct elf_file *f, char *name, size_t size, uint32_t *crc)
{
    size_t len;
    char *data = elf_file_read(f, elf_file_section(f, ".gnu_debuglink"), NOTES_MAX, &len);
    size_t text = data ? strlen(data) : 0, at = (text + 4) & ~(size_t)3;
    bool found = text && text < size && !strchr(data, '/') && at + sizeof *crc <= len;
    if (found) {
        memcpy(name, data, text + 1);
        memcpy(crc, data + at, sizeof *crc);
    }
    mem_free(data);
    return found;
}

/* ---- open and close -------------------------------------------------------------------- */

static bool is_ours(const Elf64_Ehdr *h)
{
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB &&
           (h->e_machine == THIS_MACHINE || h->e_machine == EM_CUDA || h->e_machine == AMDGPU) &&
           (h->e_type == ET_EXEC || h->e_type == ET_DYN);
}

int elf_file_open(struct elf_file *f, const char *path, struct err *e)
{
    /* O_NONBLOCK: opening a FIFO would wait for its other end */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        memset(f, 0, sizeof *f);
        f->fd = -1;
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    }
    return elf_file_take(f, fd, path, e);
}

int elf_file_take(struct elf_file *f, int fd, const char *name, struct err *e)
{
    struct stat st;
    memset(f, 0, sizeof *f);
    f->fd = fd;
    if (fstat(f->fd, &st) || !S_ISREG(st.st_mode)) {
        elf_file_close(f);
        return err_set(e, GPUFL_E_CORRUPT, "%s is not a regular file", name);
    }
    f->size = st.st_size;
    f->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    if (!elf_file_copy(f, 0, &f->head, sizeof f->head) || !is_ours(&f->head)) {
        elf_file_close(f);
        return err_set(e, GPUFL_E_CORRUPT,
                       "%s is not a program or library for this kind of machine", name);
    }
    read_sections(f);
    if (f->head.e_phentsize == sizeof(Elf64_Phdr))
        find_build_id(f);
    return 0;
}

void elf_file_close(struct elf_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    mem_free(f->sections);
    mem_free(f->names);
    memset(f, 0, sizeof *f);
    f->fd = -1;
}
