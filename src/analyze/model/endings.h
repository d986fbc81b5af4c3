/* endings.h - says how the programs ended whose sessions have no end: each text with its number of
 * sessions. Called by the owner's thread only. */
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
 * number of sessions without an end; those without a text come last. */
void endings_say(const struct endings *e, struct intern *names, unsigned unclean, struct buf *out);

#endif
