/* debug_file.c - searches the places where a debug file can be. */
#include "symbol/elf/debug_file.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "symbol/elf/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum {
    NAME_ROOM = 256,
    ID_LEAST = 4,
    CHECK_MAX = 1 << 30,
    SMALL_PACKED_MAX = 16 << 20, /* bytes of .gnu_debugdata; whole distributions stay below 1 MB */
    SMALL_MAX = 256 << 20,       /* bytes of the same, unpacked */
};

bool debug_file_by_id(struct elf_file *out, const char *root, const char *build_id)
{
    char path[PATH_MAX];
    size_t len = strlen(build_id);
    out->fd = -1;
    if (len < ID_LEAST || strspn(build_id, "0123456789abcdef") != len ||
        snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", root, build_id, build_id + 2) >=
            PATH_MAX ||
        elf_file_open(out, path, NULL))
        return false;
    if (!strcmp(out->build_id, build_id))
        return true;
    elf_file_close(out);
    return false;
}

/* Compares the checksum of objcopy --add-gnu-debuglink: zlib's CRC-32 over the whole file. */
static bool has_checksum(const struct elf_file *f, uint32_t wanted)
{
    static const size_t room = 1 << 16;
    unsigned char *chunk = f->size <= CHECK_MAX ? mem_alloc(room) : NULL;
    uint32_t crc = 0;
    off_t at = 0;
    ssize_t n = chunk ? 1 : -1;
    while (n > 0) {
        n = pread(f->fd, chunk, room, at);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n > 0)
            crc = (uint32_t)crc32(crc, chunk, (unsigned)n);
        at += n;
    }
    mem_free(chunk);
    return n == 0 && crc == wanted;
}

static bool fits(const struct elf_file *debug, const struct elf_file *program, uint32_t crc)
{
    if (debug->device == program->device && debug->inode == program->inode)
        return false;
    if (*program->build_id && *debug->build_id)
        return !strcmp(program->build_id, debug->build_id);
    return has_checksum(debug, crc);
}

static bool try_path(struct elf_file *out, const struct elf_file *program, uint32_t crc,
                     const char *path)
{
    if (elf_file_open(out, path, NULL))
        return false;
    if (fits(out, program, crc))
        return true;
    elf_file_close(out);
    return false;
}

static bool by_link(struct elf_file *out, const char *root, const struct elf_file *program,
                    const char *path)
{
    char name[NAME_ROOM], dir[PATH_MAX], candidate[PATH_MAX];
    uint32_t crc;
    char *slash;
    if (!elf_file_debuglink(program, name, sizeof name, &crc) || !realpath(path, dir) ||
        !(slash = strrchr(dir, '/')))
        return false;
    *slash = '\0';
    const struct {
        const char *root, *below;
    } places[] = {{"", ""}, {"", "/.debug"}, {root, ""}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(candidate, sizeof candidate, "%s%s%s/%s", places[i].root, dir, places[i].below,
                     name) < PATH_MAX &&
            try_path(out, program, crc, candidate))
            return true;
    return false;
}

bool debug_file_open(struct elf_file *out, const char *root, const struct elf_file *program,
                     const char *path)
{
    out->fd = -1;
    return debug_file_by_id(out, root, program->build_id) || by_link(out, root, program, path);
}

bool debug_file_small(struct elf_file *out, const struct elf_file *program)
{
    size_t packed_len, len = 0;
    out->fd = -1;
    char *packed = elf_file_read(program, elf_file_section(program, ".gnu_debugdata"),
                                 SMALL_PACKED_MAX, &packed_len);
    char *data = packed ? unpack_xz(packed, packed_len, SMALL_MAX, &len) : NULL;
    int fd = data ? memfd_create("gpufl-symbols", MFD_CLOEXEC) : -1;
    if (fd >= 0 && file_write_shielded(fd, data, len)) { /* file limits also count for memfd */
        close(fd);
        fd = -1;
    }
    mem_free(packed);
    mem_free(data);
    return fd >= 0 && elf_file_take(out, fd, ".gnu_debugdata", NULL) == 0;
}
