/* event_name.h - has names of events that no log names: copies by their direction, fills,
 * synchronizations and waits by what is waited for.
 *
 * These names have ids from EVENT_NAME_FIRST on, which no name of a log may have (such ids of a log
 * are ignored). The pyramid stores the ids, so they never change. The functions have no state.
 * Called by any thread. */
#ifndef GPUFL_WIRE_EVENT_NAME_H
#define GPUFL_WIRE_EVENT_NAME_H

#include "wire/record.h"

#define EVENT_NAME_FIRST UINT32_C(0xffff0000)

/* Lists groups of 256 ids: the id is EVENT_NAME_FIRST + 256 x group + code. */
enum event_name_group {
    EVENT_NAME_COPY = 1,  /* code: memcpy.kind */
    EVENT_NAME_FILL = 2,  /* code: 0 */
    EVENT_NAME_SYNC = 3,  /* code: sync.kind */
    EVENT_NAME_WAIT = 4,  /* code: wait.call */
    EVENT_NAME_GRAPH = 5, /* code: 0 */
    EVENT_NAME_RUN = 6,   /* code: 0 */
};

/* Returns the id of the name of a record's event. code: as above; any other value counts as 0.
 * Returns 0 if such events have names of their own, or the record is no event. */
uint32_t event_name_of(enum record_type type, int64_t code);

/* Returns the text of an id; NULL: it is not one of these. */
const char *event_name_text(int64_t id);

/* Returns the text of an id in the words of a GPU vendor ("amd", as in device.vendor). */
const char *event_name_said(int64_t id, const char *vendor);

#endif
