/* screen.h - draws a frame of the live view: GPUs with bars and their past, and processes below
 * them.
 *
 * The frame is made from a snapshot, the past, and the user's choices, and nothing else. GPUs have
 * four lines each if the screen has room for them, else one; a third of the screen is for
 * processes. Called by one thread only. */
#ifndef GPUFL_CLI_MONITOR_SCREEN_H
#define GPUFL_CLI_MONITOR_SCREEN_H

#include "cli/monitor/canvas.h"
#include "cli/monitor/snapshot.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAST_MOST = 256 };

enum sort { SORT_MEMORY, SORT_USE, SORT_GPU, SORT_PID, SORT_NAME, SORT_USER, SORT_COUNT };

struct sort_key {
    char key; /* on the keyboard */
    const char *name;
};

extern const struct sort_key sort_keys[SORT_COUNT];

/* Holds the use of each GPU in the last samples, newest last; -1: unknown. */
struct past {
    char uuid[96];
    signed char use[PAST_MOST];
    int count;
};

struct screen {
    struct past past[SEEN_GPUS_MOST];
    enum sort sort;
    bool help;
    int first;         /* the process in the first line of the table */
    int shown;         /* processes of the last frame */
    const char *away;  /* why there are no new values; NULL: there are some */
    const char *clock; /* time of day; "": none */
    bool own;          /* the samples come from a monitor that this program started */
};

/* Adds the values of a snapshot to the past, if it differs from the one before. */
void screen_keep(struct screen *s, const struct snapshot *x);

/* Sorts the processes by the chosen key, then by GPU and process id. */
void screen_sort(const struct screen *s, struct snapshot *x);

/* Handles a key; false: the key has no meaning here. processes: number of the snapshot's. */
bool screen_key(struct screen *s, int key, size_t processes);

enum screen_keys { KEY_OF_UP = 0x1000, KEY_OF_DOWN, KEY_OF_PAGE_UP, KEY_OF_PAGE_DOWN, KEY_OF_HOME };

/* Draws the frame on a blank canvas. x: sorted. */
void screen_draw(struct screen *s, const struct snapshot *x, struct canvas *c);

/* Draws only the table of processes, from that row to the one before `end`. */
void screen_table(struct screen *s, const struct snapshot *x, struct canvas *c, int row, int end);

/* ---- words, also for plain lines; written to out of `size` bytes, "" if unknown ---- */

void words_memory(int64_t used, int64_t total, char *out, size_t size);
void words_throttle(int64_t reasons, const char *vendor, char *out,
                    size_t size); /* "power cap, too hot (hardware)" */
void words_place(const struct seen_process *p, char *out, size_t size); /* pod, job or container */
void words_rate(int64_t bytes_per_second, char *out, size_t size);
const char *words_name(const struct seen_gpu *g); /* without the vendor's name */

/* The functions return the vendor's words for the part with the clock, and for the link between
 * GPUs. */
const char *words_clock(const struct seen_gpu *g);
const char *words_plural(int64_t n); /* "s"; "" for one */
const char *words_link(const struct seen_gpu *g);

#endif
