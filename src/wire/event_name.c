/* event_name.c - see event_name.h. */
#include "wire/event_name.h"

#include "wire/wait_call.h"

#include <string.h>

static const char *const copies[] = {"copy",      "copy HtoD", "copy DtoH", "copy HtoA",
                                     "copy AtoH", "copy AtoA", "copy AtoD", "copy DtoA",
                                     "copy DtoD", "copy HtoH", "copy PtoP"};
static const char *const fills[] = {"fill"};
static const char *const syncs[] = {"synchronization", "event synchronization",
                                    "stream waits for event", "stream synchronization",
                                    "context synchronization"};
static const char *const waits[] = {"call that waits",
                                    "wait for event",
                                    "let stream wait for event",
                                    "wait for stream",
                                    "wait for context",
                                    "call to copy",
                                    "call to fill",
                                    "call to free",
                                    "call to allocate",
                                    "call to load or unload code"};
static const char *const graphs[] = {"graph launch"};
static const char *const runs[] = {"graph"};

#define TEXTS(t) t, sizeof(t) / sizeof *(t)

static const struct group {
    enum record_type type;
    enum event_name_group group;
    const char *const *texts;
    size_t count;
} groups[] = {
    {RECORD_memcpy, EVENT_NAME_COPY, TEXTS(copies)},
    {RECORD_memset, EVENT_NAME_FILL, TEXTS(fills)},
    {RECORD_sync, EVENT_NAME_SYNC, TEXTS(syncs)},
    {RECORD_wait, EVENT_NAME_WAIT, TEXTS(waits)},
    {RECORD_graph_launch, EVENT_NAME_GRAPH, TEXTS(graphs)},
    {RECORD_graph_run, EVENT_NAME_RUN, TEXTS(runs)},
};

enum { GROUPS = sizeof groups / sizeof *groups, GROUP_IDS = 256 };

uint32_t event_name_of(enum record_type type, int64_t code)
{
    for (int i = 0; i < GROUPS; i++)
        if (groups[i].type == type) {
            int64_t known = code > 0 && (uint64_t)code < groups[i].count ? code : 0;
            return EVENT_NAME_FIRST + GROUP_IDS * (uint32_t)groups[i].group + (uint32_t)known;
        }
    return 0;
}

const char *event_name_text(int64_t id)
{
    if (id < (int64_t)EVENT_NAME_FIRST || id > UINT32_MAX)
        return NULL;
    uint32_t at = (uint32_t)id - EVENT_NAME_FIRST, code = at % GROUP_IDS;
    for (int i = 0; i < GROUPS; i++)
        if ((uint32_t)groups[i].group == at / GROUP_IDS && code < groups[i].count)
            return groups[i].texts[code];
    return NULL;
}

enum { SYNC_CONTEXT = 4 }; /* sync.kind */

const char *event_name_said(int64_t id, const char *vendor)
{
    static const struct {
        const char *vendor, *text;
        enum record_type type;
        int64_t code;
    } own[] = {{"amd", "device synchronization", RECORD_sync, SYNC_CONTEXT},
               {"amd", "wait for device", RECORD_wait, WAIT_CONTEXT}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (id == (int64_t)event_name_of(own[i].type, own[i].code) &&
            strcmp(own[i].vendor, vendor) == 0)
            return own[i].text;
    return event_name_text(id);
}
