/* driver.c - see driver.h. */
#include "backend/amd/library/driver.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { NODES_MOST = 512, FILE_MOST = 16 << 10 };

const char *amd_root = "";

static void place(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s%s", amd_root, name);
}

bool amd_driver_loaded(void)
{
    static const char *const signs[] = {"/sys/module/amdgpu", "/dev/kfd"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        place(path, sizeof path, signs[i]);
        if (file_exists(path))
            return true;
    }
    return false;
}

int amd_driver_may_compute(struct err *e)
{
    char path[PATH_MAX];
    place(path, sizeof path, "/dev/kfd");
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
        return 0;
    if (errno == EACCES || errno == EPERM)
        return err_set(e, GPUFL_E_PERM,
                       "this user may not open /dev/kfd, so that programs cannot use the GPUs: add "
                       "the user to the groups render and video and log in again, or give the "
                       "container --group-add with the number of the group render");
    return err_set(e, GPUFL_E_UNAVAILABLE,
                   "/dev/kfd is missing, so that programs cannot use the GPUs: start the container "
                   "with --device /dev/kfd --device /dev/dri, or install a kernel with AMD's "
                   "compute driver (CONFIG_HSA_AMD)");
}

/* Returns the text of a file without its last newline; NULL: there is none. Owned by the caller. */
static char *read_text(const char *name)
{
    char path[PATH_MAX], *text = NULL;
    size_t len = 0;
    place(path, sizeof path, name);
    if (file_read_all(path, FILE_MOST, &text, &len, NULL) != 0)
        return NULL;
    if (len && text[len - 1] == '\n')
        text[len - 1] = '\0';
    return text;
}

void amd_driver_version(char *text, size_t size)
{
    struct utsname u;
    char *own = read_text("/sys/module/amdgpu/version");
    if (own && *own)
        snprintf(text, size, "%s", own);
    else
        snprintf(text, size, "Linux %.48s", uname(&u) == 0 ? u.release : "?");
    mem_free(own);
}

/* ---- topology --------------------------------------------------------------------------- */

/* Returns a number of a node's properties, which are lines "name number"; 0: there is none. */
static int64_t property(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return strtoll(line + len + 1, NULL, 10);
    }
    return 0;
}

/* Returns the properties of a node, owned by the caller; NULL: there is no such node. */
static char *node_text(int number)
{
    char name[80];
    snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/properties", number);
    return read_text(name);
}

bool amd_driver_node(uint32_t domain, uint32_t location, struct amd_node *out)
{
    bool found = false;
    *out = (struct amd_node){0};
    for (int i = 0; i < NODES_MOST && !found; i++) {
        char *text = node_text(i);
        if (!text)
            return false; /* numbers have no gaps */
        int64_t simds = property(text, "simd_count"), each = property(text, "simd_per_cu");
        found = simds > 0 && property(text, "location_id") == (int64_t)location &&
                property(text, "domain") == (int64_t)domain;
        if (found)
            *out = (struct amd_node){.units = each > 0 ? simds / each : 0,
                                     .target = property(text, "gfx_target_version"),
                                     .mhz = property(text, "max_engine_clk_fcompute")};
        mem_free(text);
    }
    return found;
}

bool amd_driver_has_gpu(void)
{
    bool found = false;
    for (int i = 0; i < NODES_MOST && !found; i++) {
        char *text = node_text(i);
        if (!text)
            return false;
        found = property(text, "simd_count") > 0;
        mem_free(text);
    }
    return found;
}

void amd_target_name(int64_t target, char *text, size_t size)
{
    *text = '\0';
    if (target > 0) /* the last two parts are single digits, in hexadecimal */
        snprintf(text, size, "gfx%d%x%x", (int)(target / 10000), (unsigned)(target / 100 % 100),
                 (unsigned)(target % 100));
}
