/* uncounted.h - counts scopes that hardware counters left out: how often each name was left out,
 * and why.
 *
 * A table of fixed size whose cells are taken by compare and swap: no lock and no memory on the
 * program's threads. The scopes of names beyond it are counted by their reason alone. */
#ifndef GPUFL_CAPTURE_RECORDS_UNCOUNTED_H
#define GPUFL_CAPTURE_RECORDS_UNCOUNTED_H

#include <stdint.h>

struct writer;
struct intern;

/* Empties the table, when a session begins. [owner] */
void uncounted_begin(void);

/* Counts a scope of this name that was left out. why: static text. [hot] */
void uncounted_note(uint32_t name, const char *why);

/* Writes a setting uncounted_scope of engine RangeProfiler for each name and reason, a
 * setting uncounted_unnamed for each reason of scopes that are not named, and one message for all.
 * [collector] */
void uncounted_report(struct writer *w, struct intern *names);

#endif
