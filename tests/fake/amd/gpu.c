/* gpu.c - see gpu.h. */
#include "tests/fake/amd/gpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct nvml_control none, *control = &none; /* constant after the first call */

static void map_control(void)
{
    const char *path = getenv("FAKE_AMD_CONTROL");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        control = at;
}

EXPORT struct nvml_control *fake_amd_control(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, map_control);
    return control;
}

int fake_script_is(const char *word)
{
    const char *s = getenv("FAKE_AMD");
    return s && !strcmp(s, word);
}

int fake_parts(void)
{
    return fake_script_is("parts") || fake_script_is("unnumbered") || fake_script_is("nameless");
}

unsigned fake_device_count(void)
{
    int64_t now = fake_amd_control()->devices;
    return now ? (unsigned)now : 2;
}

enum fake_result fake_init(void)
{
    if (fake_script_is("missing") || fake_amd_control()->unloaded)
        return FAKE_NO_DRIVER;
    if (fake_script_is("denied"))
        return FAKE_DENIED;
    if (fake_script_is("unknown"))
        return FAKE_BROKEN;
    fake_amd_control()->inits++;
    return FAKE_OK;
}

static _Atomic int ends;

void fake_end(void)
{
    ends++;
}

EXPORT int fake_amd_ends(void)
{
    return ends;
}

enum fake_result fake_ask(unsigned device, int optional)
{
    struct nvml_control *c = fake_amd_control();
    c->queries++;
    if (c->fail_at > 0 && --c->fail_at == 0)
        return FAKE_BROKEN;
    if (c->unloaded || (c->lost >> (device & 63) & 1))
        return FAKE_FILE; /* the files of a GPU that is gone */
    return optional && device == 1 && !fake_parts() ? FAKE_NOT_SUPPORTED : FAKE_OK;
}

uint64_t fake_place(unsigned device)
{
    uint64_t bus = fake_parts() ? 0x43 : 0x43 + device * 0x20;
    return UINT64_C(1) << 32 | bus << 8;
}

unsigned fake_pids(unsigned device, uint32_t *out, unsigned max)
{
    struct nvml_control *c = fake_amd_control();
    unsigned count = 0;
    for (unsigned k = 0; k < NVML_CONTROL_PIDS; k++) {
        int64_t pid = c->pids[k];
        if (pid <= 0 || k % fake_device_count() != device)
            continue;
        if (count < max)
            out[count] = (uint32_t)pid;
        count++;
    }
    return count;
}

/* From table to table the firmware's clock advances by a second, in which this crosses the
 * links. */
static void put_links(struct gpu_metrics *m)
{
    static _Atomic uint64_t tables;
    uint64_t n = ++tables;
    m->firmware_clock = n * 100000000;
    m->xgmi_read[0] = n * 1000;
    m->xgmi_read[3] = n * (FAKE_LINK_READ - 1000);
    m->xgmi_write[0] = n * FAKE_LINK_WRITE;
}

/* `throttle` of the control is how long the power limit has held the clocks down. */
void fake_metrics(void *out, size_t size)
{
    struct gpu_metrics m;
    int chiplets = fake_script_is("mi300");
    memset(&m, 0xff, sizeof m);
    m.size = (uint16_t)size;
    m.format = 1;
    m.content = 6;
    if (!chiplets)
        m.edge = FAKE_EDGE;
    m.hotspot = FAKE_JUNCTION;
    m.gfx_busy = FAKE_BUSY;
    m.power = FAKE_WATTS;
    for (int i = 0; i < 3; i++)
        m.clocks_gfx[i] = (uint16_t)(FAKE_CHIPLET_MHZ - 50 * i);
    m.throttle = chiplets ? UINT64_MAX
                          : UINT64_C(1) << GPU_THROTTLER_POWER |
                                UINT64_C(1) << (GPU_THROTTLER_TEMPERATURE + 4);
    m.pcie_now = FAKE_PCIE;
    m.pcie_replays = FAKE_REPLAYS;
    put_links(&m);
    m.ticks = 1000;
    m.held_prochot = m.held_socket = m.held_regulator = m.held_hbm = 3;
    m.held_power = (uint64_t)fake_amd_control()->throttle;
    memset(out, 0, size);
    memcpy(out, &m, size < sizeof m ? size : sizeof m);
    if (size > sizeof m)
        memset((char *)out + sizeof m, 0x5a, size - sizeof m);
}
