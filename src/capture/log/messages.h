/* messages.h - takes messages for people, from any thread to the log and to stderr.
 *
 * A bounded queue under a mutex. Warnings, errors and notes aloud are also written to stderr, at
 * once or as soon as the session has begun. This file also keeps what became of each feature,
 * because a backend may report it from any thread. */
#ifndef GPUFL_CAPTURE_LOG_MESSAGES_H
#define GPUFL_CAPTURE_LOG_MESSAGES_H

#include "backend/backend.h"
#include "base/intern.h"
#include "capture/log/writer.h"

#include <stdarg.h>
#include <stdbool.h>

/* Queues a message of the session and writes it to stderr; a note is written only if debug output
 * is on, or if its severity is NOTE_ALOUD. [any] */
void message_say(enum severity severity, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void message_vsay(enum severity severity, const char *code, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Writes a row for each queued message. [collector] */
void messages_drain(struct writer *w, struct intern *names);

/* Empties the queue and the features, when a session begins. [owner] */
void messages_begin(void);

/* Holds sentences for stderr back until it is known whether the session begins. If it does not, one
 * sentence says why, and the sentences held back are dropped. [owner] */
void messages_hold(void);
void messages_release(bool say);

/* Makes the lock again in a forked child, because a thread of the parent may have held the lock. */
void messages_forget(void);

/* ---- features ------------------------------------------------------------------------------- */

/* clang-format off */
#define FEATURES(FEATURE) \
    FEATURE(kernels) FEATURE(copies) FEATURE(synchronizations) FEATURE(memory) FEATURE(graphs) \
    FEATURE(external_correlation) FEATURE(stacks) FEATURE(device_metrics) FEATURE(host_metrics) \
    FEATURE(scopes) FEATURE(host_samples)

enum feature {
#define FEATURE(name) FEATURE_##name,
    FEATURES(FEATURE)
#undef FEATURE
    FEATURE_COUNT
};
/* clang-format on */

/* Notes what became of a feature; the last call counts. status and reason are copied. [any] */
void feature_set(const char *feature, bool requested, const char *status, const char *reason);
/* Sets, at the session's end, a feature that was asked for, as feature_set does, but a feature that
 * was reported as partial keeps that reason. [any] */
void feature_end(const char *feature, const char *status, const char *reason);

/* Notes what became of a feature, unless a failure has been noted already. [collector] */
void feature_conclude(enum feature f, bool requested, const char *status, const char *reason);

/* Writes the capability rows. [collector] */
void features_write(struct writer *w, struct intern *names);

#endif
