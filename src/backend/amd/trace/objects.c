/* objects.c - see objects.h. */
#include "backend/amd/trace/objects.h"

#include "backend/common/code_copies.h"
#include "base/alloc.h"
#include "base/keyed.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct vendor vendor_amd;

enum { OBJECTS_MOST = 1 << 18 };
enum { STORED_FILE = 1, STORED_MEMORY = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct keyed table; /* of struct object; guarded by lock */
static _Atomic bool listening;
static _Atomic bool reads_functions; /* relaxed */
static _Atomic uint64_t session;     /* counts objects_begin; relaxed */

/* ---- the URI ------------------------------------------------------------------------- */

static int hex_of(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

static uint64_t number_of(const char *from, const char *key)
{
    const char *at = strstr(from, key);
    return at ? strtoull(at + strlen(key), NULL, 0) : 0;
}

bool objects_uri(const char *uri, char *path, size_t room, uint64_t *offset, uint64_t *size)
{
    static const char scheme[] = "file://";
    size_t n = 0;
    if (!uri || strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *at = uri + sizeof scheme - 1;
    for (; *at && !strchr("#?", *at) && n + 1 < room; at++) {
        int high = *at == '%' ? hex_of(at[1]) : -1, low = high >= 0 ? hex_of(at[2]) : -1;
        path[n++] = low >= 0 ? (char)(high << 4 | low) : *at;
        at += low >= 0 ? 2 : 0;
    }
    path[n] = '\0';
    *offset = number_of(at, "offset=");
    *size = number_of(at, "size=");
    return n && n + 1 < room;
}

/* ---- loading ------------------------------------------------------------------------- */

/* Copies a part of a file as an object. The hash of its bytes; 0: it cannot be read. */
static uint64_t copy_file(const char *path, uint64_t offset, uint64_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool known =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && offset < (uint64_t)st.st_size;
    uint64_t rest = known ? (uint64_t)st.st_size - offset : 0;
    uint64_t hash = 0;
    if (known)
        hash = code_copies_read(fd, (off_t)offset, size && size < rest ? size : rest);
    else
        code_copies_unread();
    if (fd >= 0)
        close(fd);
    return hash;
}

/* Copies an object from the place that the library reports. Returns the hash of its bytes; 0: it is
 * not kept. */
static uint64_t copy_object(const struct rocp_code_object *o)
{
    char path[PATH_MAX];
    uint64_t offset, size;
    bool memory = o->storage == STORED_MEMORY && o->size >= sizeof *o;
    if (memory && o->memory_base && o->memory_size)
        return code_copies_loaded((const void *)(uintptr_t)o->memory_base, (size_t)o->memory_size);
    if (o->storage == STORED_FILE && objects_uri(o->uri, path, sizeof path, &offset, &size))
        return copy_file(path, offset, size);
    code_copies_unread();
    return 0;
}

/* ---- functions ----------------------------------------------------------------------- */

static struct elf_functions *read_elf(const void *elf, size_t size)
{
    struct elf_functions *s = mem_zalloc(sizeof *s);
    if (s && elf_functions_read(elf, size, s)) {
        mem_free(s);
        s = NULL;
    }
    return s;
}

/* The bytes are read, not mapped: if a mapped file became shorter, reading it would end the
 * program.
 */
static struct elf_functions *read_file(const char *path, uint64_t offset, uint64_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    struct elf_functions *s = NULL;
    bool known =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && offset < (uint64_t)st.st_size;
    uint64_t rest = known ? (uint64_t)st.st_size - offset : 0;
    size_t length = size && size < rest ? size : rest;
    void *bytes = length && length <= CODE_COPY_MOST ? mem_pages(length, 1) : NULL;
    if (bytes && pread(fd, bytes, length, (off_t)offset) == (ssize_t)length)
        s = read_elf(bytes, length);
    mem_pages_free(bytes, length, 1);
    if (fd >= 0)
        close(fd);
    return s;
}

static struct elf_functions *read_functions(const struct rocp_code_object *o)
{
    char path[PATH_MAX];
    uint64_t offset, size;
    if (!atomic_load_explicit(&reads_functions, memory_order_relaxed))
        return NULL;
    if (o->storage == STORED_MEMORY && o->size >= sizeof *o && o->memory_base)
        return read_elf((const void *)(uintptr_t)o->memory_base, (size_t)o->memory_size);
    bool file = o->storage == STORED_FILE && objects_uri(o->uri, path, sizeof path, &offset, &size);
    return file ? read_file(path, offset, size) : NULL;
}

void objects_read_functions(void)
{
    atomic_store_explicit(&reads_functions, true, memory_order_relaxed);
}

const struct elf_function *objects_function(uint64_t id, uint64_t place, uint64_t *offset)
{
    struct object o;
    if (!objects_find(id, &o) || !o.functions)
        return NULL;
    const struct elf_function *f = elf_functions_at(o.functions, place + o.shift);
    *offset = f ? place + o.shift - f->address : 0;
    return f;
}

/* ---- the table ----------------------------------------------------------------------- */

/* Takes the members of o over, except those that the object has already: readers keep pointers to
 * them. */
static void put(const struct object *o)
{
    uint32_t index = 0;
    bool added = false, taken = false;
    pthread_mutex_lock(&lock);
    if (!table.max)
        keyed_init(&table, sizeof *o, sizeof o->id, OBJECTS_MOST);
    if (!keyed_put(&table, &o->id, &index, &added) && index) {
        struct object *to = keyed_at(&table, index);
        const struct object before = *to;
        *to = *o;
        taken = !before.file && !before.functions;
        if (!taken) {
            to->file = before.file;
            to->functions = before.functions;
        }
    }
    pthread_mutex_unlock(&lock);
    if (taken)
        return;
    mem_free((char *)o->file);
    if (o->functions)
        elf_functions_free((struct elf_functions *)o->functions);
    mem_free((struct elf_functions *)o->functions);
}

void objects_loaded(const struct rocp_code_object *o)
{
    char path[PATH_MAX];
    uint64_t offset, size;
    struct object put_it = {.id = o->id, .agent = o->agent};
    bool copies = atomic_load_explicit(&listening, memory_order_acquire);
    if (o->size < offsetof(struct rocp_code_object, memory_base))
        return;
    bool file = objects_uri(o->uri, path, sizeof path, &offset, &size);
    put_it.session = atomic_load_explicit(&session, memory_order_relaxed);
    put_it.file = file ? mem_strdup(path) : NULL;
    put_it.hash = copies ? copy_object(o) : 0;
    put_it.shift = o->load_base - (uint64_t)o->load_delta;
    put_it.functions = read_functions(o);
    put(&put_it);
}

bool objects_find(uint64_t id, struct object *out)
{
    pthread_mutex_lock(&lock);
    uint32_t index = table.max ? keyed_find(&table, &id) : 0;
    if (index)
        memcpy(out, keyed_at(&table, index), sizeof *out);
    pthread_mutex_unlock(&lock);
    return index != 0;
}

/* ---- the session --------------------------------------------------------------------- */

void objects_begin(void)
{
    code_copies_begin();
    atomic_fetch_add_explicit(&session, 1, memory_order_relaxed);
    atomic_store_explicit(&listening, true, memory_order_release);
}

void objects_end(void)
{
    atomic_store_explicit(&listening, false, memory_order_release);
}

void objects_drain(struct sink *s)
{
    const struct code_naming names = {.ending = vendor_amd.disassembler.ending};
    code_copies_drain(&names, s);
}

uint32_t objects_define(struct sink *s, uint64_t id, const char *arch, const char *name)
{
    struct object o = {0};
    bool known =
        objects_find(id, &o) && o.session == atomic_load_explicit(&session, memory_order_relaxed);
    const struct code_copy *kept = known && o.hash ? code_copies_find(o.hash) : NULL;
    struct code_object_row object = {.crc = known && o.hash ? (int64_t)o.hash : CELL_NULL,
                                     .module = o.file ? s->ops->name(s, o.file) : 0,
                                     .arch = s->ops->name(s, arch),
                                     .size = kept ? kept->size : CELL_NULL,
                                     .file = kept ? kept->file : 0};
    struct function_row function = {.object = s->ops->define(s, RECORD_code_object, &object),
                                    .name = s->ops->name(s, name),
                                    .index = CELL_NULL};
    uint32_t number = s->ops->define(s, RECORD_function, &function);
    s->ops->mention(s, RECORD_function, number);
    return number;
}
