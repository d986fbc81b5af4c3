/* endings.h - how the programs of sessions without an end ended: each text with the number of
 * sessions that say it. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_ENDINGS_H
#define GPUFL_ANALYZE_MODEL_ENDINGS_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum { ENDINGS_MOST = 16 }; /* different texts; sessions with further ones count as unknown */

struct endings {
    struct {
        uint32_t text; /* id of model.names */
        unsigned sessions;
    } items[ENDINGS_MOST];
    size_t count;
};

struct intern;

void endings_add(struct endings *e, uint32_t text, unsigned sessions);
void endings_merge(struct endings *into, const struct endings *from);

/* Appends "3 processes ended by _exit, code 0; 1 process was ended by signal 9 (Killed)"; unclean:
 * sessions without an end, of which those that say nothing come last. */
void endings_say(const struct endings *e, struct intern *names, unsigned unclean, struct buf *out);

#endif
