/* modules_file.c - describes a module from its mapping, and from its file.
 *
 * The ELF header, the program headers and the notes are read from memory, where they belong to the
 * running code: the file at the same path may have been replaced. Only size and time come from the
 * file; later, before lines are read from a file, they are compared. Without a build id nothing
 * else identifies the file, so the inode of the mapping must be that of the file.
 *
 * Runs on the thread of the program that meets a module first. It uses raw system calls, because
 * the functions of libc are cancellation points. */
#include "stack/native/modules_file.h"

#include "backend/vendor.h"
#include "stack/common/safe.h"
#include "stack/native/cfi_index.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    KIND_ELF = 1, /* values of module.kind in schema/records.def */
    KIND_VDSO = 2,
    NOTE_MAX = 1024, /* bytes of a note segment that are read */
    PHDRS_MAX = 64,
    LOADS_MOST = 8,
    SECTIONS_MOST = 256,
    NAME_PIECE = 64,  /* bytes of a name that are read at once */
    MAPS_LINE = 1024, /* longest line of /proc/self/maps that is parsed */
};

/* Holds the program headers that are used here. */
struct headers {
    uintptr_t bias;
    uintptr_t note[4], note_size[4];
    int notes;
    uintptr_t eh_hdr, eh_end;
    struct {
        uintptr_t begin, end; /* addresses of the bytes that come from the file */
    } load[LOADS_MOST];
    int loads;
    uintptr_t data, data_end; /* the writable segments; 0, 0: none */
};

static bool headers_read(struct headers *h, uintptr_t begin)
{
    ElfW(Ehdr) e;
    *h = (struct headers){0};
    if (!safe_read(&e, (const void *)begin, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    ElfW(Phdr) all[PHDRS_MAX];
    int n = e.e_phnum < PHDRS_MAX ? e.e_phnum : PHDRS_MAX;
    if (!safe_read(all, (const void *)(begin + e.e_phoff), (size_t)n * sizeof all[0]))
        return false;
    bool loaded = false;
    for (int i = 0; i < n && !loaded; i++)
        if (all[i].p_type == PT_LOAD) {
            h->bias = begin - (all[i].p_vaddr & ~(uintptr_t)(MODULE_PAGE - 1));
            loaded = true;
        }
    for (int i = 0; i < n; i++) {
        uintptr_t at = h->bias + all[i].p_vaddr;
        if (all[i].p_type == PT_GNU_EH_FRAME)
            h->eh_hdr = at;
        if (all[i].p_type == PT_NOTE && h->notes < 4) {
            h->note[h->notes] = at;
            h->note_size[h->notes++] = all[i].p_memsz;
        }
    }
    for (int i = 0; i < n; i++) {
        uintptr_t at = h->bias + all[i].p_vaddr;
        if (all[i].p_type != PT_LOAD)
            continue;
        if (all[i].p_flags & PF_W) {
            h->data = h->data ? h->data : at;
            h->data_end = at + all[i].p_memsz;
        }
        if (h->eh_hdr >= at && h->eh_hdr < at + all[i].p_filesz)
            h->eh_end = at + all[i].p_filesz;
        if (h->loads < LOADS_MOST) {
            h->load[h->loads].begin = at;
            h->load[h->loads++].end = at + all[i].p_filesz;
        }
    }
    if (!h->eh_end)
        h->eh_hdr = 0;
    return loaded;
}

/* Writes the GNU build id as hexadecimal; returns its address, 0: none. */
static uintptr_t note_build_id(const struct headers *h, char *text, size_t size)
{
    unsigned char bytes[NOTE_MAX];
    for (int i = 0; i < h->notes; i++) {
        size_t n = h->note_size[i] < sizeof bytes ? h->note_size[i] : sizeof bytes;
        if (!safe_read(bytes, (const void *)h->note[i], n))
            continue;
        for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= n;) {
            ElfW(Nhdr) note;
            memcpy(&note, bytes + at, sizeof note);
            size_t name = at + sizeof note;
            if (note.n_namesz > n || note.n_descsz > n)
                break;
            size_t desc = name + ((note.n_namesz + 3) & ~(size_t)3);
            at = desc + ((note.n_descsz + 3) & ~(size_t)3);
            if (desc + note.n_descsz > n || note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
                memcmp(bytes + name, "GNU", 4) != 0 || note.n_descsz < sizeof(uint64_t))
                continue;
            for (size_t k = 0; k < note.n_descsz && 2 * k + 2 < size; k++)
                snprintf(text + 2 * k, 3, "%02x", bytes[desc + k]);
            return h->note[i] + desc;
        }
    }
    return 0;
}

static bool maps_parse(const char *line, uintptr_t begin, struct module_mapping *out)
{
    char *at;
    if (strtoul(line, &at, 16) != begin || *at != '-')
        return false;
    int path = 0;
    out->end = strtoul(at + 1, NULL, 16);
    if (sscanf(at, "-%*x %*s %*x %x:%x %lu %n", &out->major, &out->minor, &out->inode, &path) < 3 ||
        !path)
        return false;
    snprintf(out->path, sizeof out->path, "%s", at + path);
    return true;
}

bool module_file_mapping(uintptr_t begin, struct module_mapping *out)
{
    char buf[4 * MAPS_LINE + 1];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool found = false;
    size_t have = 0;
    for (;;) {
        ssize_t n = syscall(SYS_read, fd, buf + have, sizeof buf - 1 - have);
        if (n <= 0)
            break;
        have += (size_t)n;
        buf[have] = 0;
        char *line = buf, *end;
        while (!found && (end = strchr(line, '\n'))) {
            *end = 0;
            found = maps_parse(line, begin, out);
            line = end + 1;
        }
        have = (size_t)(buf + have - line);
        if (found || have == sizeof buf - 1)
            break;
        memmove(buf, line, have);
    }
    syscall(SYS_close, fd);
    return found;
}

/* Copies a name of the loader, which the loader frees with its library. The rest of `to` is
 * zero. */
static void name_read(char *to, size_t size, const char *name)
{
    memset(to, 0, size);
    for (size_t n = 0; n + 1 < size;) {
        size_t piece = NAME_PIECE - ((uintptr_t)(name + n) & (NAME_PIECE - 1)); /* one page */
        piece = piece < size - 1 - n ? piece : size - 1 - n;
        if (!safe_read(to + n, name + n, piece)) {
            to[n] = 0;
            return;
        }
        char *end = memchr(to + n, 0, piece);
        if (end) {
            memset(end, 0, (size_t)(to + n + piece - end));
            return;
        }
        n += piece;
    }
}

uint64_t module_file_name_hash(const char *name)
{
    uint64_t words[sizeof((struct stack_module *)0)->path / sizeof(uint64_t)], h = 1;
    name_read((char *)words, sizeof words, name);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && words[i]; i++)
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u ^ h >> 29;
    return h | 1;
}

static void module_path(struct module *m, const char *name)
{
    char *path = m->pub.path;
    struct module_mapping line = {0};
    name_read(path, sizeof m->pub.path, name);
    if (strncmp(path, "linux-vdso", 10) == 0 || strncmp(path, "linux-gate", 10) == 0) {
        m->pub.kind = KIND_VDSO;
        return;
    }
    if (!path[0]) { /* the program itself */
        long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof m->pub.path - 1);
        path[n > 0 ? n : 0] = 0;
    }
    /* A relative name may be from another working folder; without a build id the file must
     * be the one that is mapped. The kernel knows both, and adds " (deleted)". */
    if (path[0] == '/' && m->pub.build_id[0])
        return;
    if (!module_file_mapping(m->pub.begin, &line))
        return;
    struct stat st;
    if (path[0] != '/' || stat(path, &st) != 0 || st.st_ino != line.inode ||
        major(st.st_dev) != line.major || minor(st.st_dev) != line.minor)
        memcpy(path, line.path, sizeof m->pub.path);
}

static void module_file_facts(struct module *m)
{
    struct stat st;
    m->pub.size = m->pub.mtime = INT64_MIN;
    if (m->pub.kind != KIND_ELF || stat(m->pub.path, &st) != 0)
        return;
    m->pub.size = st.st_size;
    m->pub.mtime = st.st_mtim.tv_sec * (int64_t)1000000000 + st.st_mtim.tv_nsec;
}

/* Finds the section .eh_frame by the file's own headers. False: there is none, or the file is
 * another one. */
static bool section_find(int fd, uintptr_t begin, ElfW(Shdr) * found)
{
    static const char wanted[] = ".eh_frame";
    ElfW(Ehdr) file, mapped;
    ElfW(Shdr) names;
    char name[sizeof wanted];
    if (syscall(SYS_pread64, fd, &file, sizeof file, 0) != (long)sizeof file ||
        !safe_read(&mapped, (const void *)begin, sizeof mapped) ||
        memcmp(&file, &mapped, sizeof file) != 0 || file.e_shentsize != sizeof names ||
        file.e_shstrndx >= file.e_shnum || file.e_shnum > SECTIONS_MOST)
        return false;
    off_t table = (off_t)file.e_shoff;
    if (syscall(SYS_pread64, fd, &names, sizeof names,
                table + file.e_shstrndx * (off_t)sizeof names) != (long)sizeof names)
        return false;
    for (int i = 0; i < file.e_shnum; i++)
        if (syscall(SYS_pread64, fd, found, sizeof *found, table + i * (off_t)sizeof *found) ==
                (long)sizeof *found &&
            found->sh_type != SHT_NOBITS && (found->sh_flags & SHF_ALLOC) &&
            syscall(SYS_pread64, fd, name, sizeof name,
                    (off_t)(names.sh_offset + found->sh_name)) == (long)sizeof name &&
            memcmp(name, wanted, sizeof name) == 0)
            return true;
    return false;
}

/* Looks for the unwind entries in the file, for modules without .eh_frame_hdr. */
static void module_index(struct module *m, const struct headers *h)
{
    ElfW(Shdr) s;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, m->pub.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = fd >= 0 && section_find(fd, m->pub.begin, &s);
    if (fd >= 0)
        syscall(SYS_close, fd);
    for (int i = 0; found && i < h->loads; i++) {
        uintptr_t at = h->bias + s.sh_addr, end = h->load[i].end;
        if (at < h->load[i].begin || at >= end || s.sh_size > end - at)
            continue;
        m->eh_end = end;
        m->index = cfi_index_make(m, at, s.sh_size);
    }
    if (!m->index)
        m->eh_end = 0;
}

bool module_file_describe(struct module *m, uintptr_t begin, uintptr_t end, const char *name)
{
    struct headers h;
    if (!headers_read(&h, begin))
        return false;
    if (!h.eh_hdr && safe_copies()) /* the whole section of entries would have to be copied */
        return false;
    m->pub.kind = KIND_ELF;
    m->pub.base = h.bias;
    m->pub.begin = begin;
    m->pub.end = end;
    m->data = h.data;
    m->data_end = h.data_end;
    m->eh_hdr = h.eh_hdr;
    m->eh_end = h.eh_end;
    uintptr_t id = note_build_id(&h, m->pub.build_id, sizeof m->pub.build_id);
    m->name_hash = id ? 0 : module_file_name_hash(name);
    uintptr_t sections = begin + offsetof(ElfW(Ehdr), e_shoff); /* differs from file to file */
    m->print_at[0] = id ? id : sections;
    m->print_at[1] = h.eh_hdr ? h.eh_hdr + 4 : sections;
    for (int i = 0; i < 2; i++)
        if (!safe_read(&m->print[i], (const void *)m->print_at[i], sizeof m->print[i]))
            return false;
    module_path(m, name);
    module_file_facts(m);
    if (!m->eh_hdr && m->pub.kind == KIND_ELF)
        module_index(m, &h);
    m->pub.unwinds = m->eh_hdr || m->index;
    return true;
}

bool module_file_needs_file(uintptr_t begin, const char *name)
{
    struct headers h;
    char id[2 * sizeof(uint64_t) + 1];
    return name[0] != '/' || (headers_read(&h, begin) && !note_build_id(&h, id, sizeof id));
}

enum module_role modules_role(const char *path)
{
    static const struct {
        const char *name;
        const char *next; /* one of these characters must follow: wheels add "-<hash>" */
        enum module_role role;
    } rows[] = {
        {"libgpufl", ".-", MODULE_DRIVER},  {"ld", ".-", MODULE_DRIVER},
        {"libc", ".-", MODULE_SYSTEM},      {"libpthread", ".-", MODULE_SYSTEM},
        {"linux-vdso", ".", MODULE_SYSTEM}, {"libtsan", ".", MODULE_SYSTEM},
        {"libasan", ".", MODULE_SYSTEM}, /* start threads, too */
    };
    if (vendor_module_of(path))
        return MODULE_DRIVER;
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n = strlen(rows[i].name);
        /* A library has ".so" in its name: a file called "ld-x" is the user's program. */
        if (strncmp(name, rows[i].name, n) == 0 && name[n] && strchr(rows[i].next, name[n]) &&
            strstr(name, ".so"))
            return rows[i].role;
    }
    return MODULE_USER;
}
