/* messages.c - see messages.h. Nothing here allocates, because messages must work when
 * memory has run out. */
#include "capture/log/messages.h"

#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE_MAX = 64, EXTRA_FEATURES = 10, HELD_MAX = 8 };

struct message {
    int64_t time;
    enum severity severity;
    char code[40];
    char text[512];
};

struct feature_state {
    char name[32];
    bool requested, known;
    char status[24];
    char reason[256];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message queue[QUEUE_MAX]; /* guarded by lock, like all below */
static unsigned queued, dropped;
static struct held {
    enum severity severity;
    char text[sizeof((struct message *)0)->text];
} held[HELD_MAX]; /* not written to stderr yet */
static unsigned held_count;
static bool holding;
static struct feature_state features[FEATURE_COUNT + EXTRA_FEATURES];

static const char *const feature_names[] = {
#define FEATURE(name) #name,
    FEATURES(FEATURE)
#undef FEATURE
};

/* Writes the message to stderr. */
static void say_aloud(enum severity severity, const char *text)
{
    static const enum log_level levels[] = {[SEVERITY_NOTE] = LOG_DEBUG,
                                            [SEVERITY_WARNING] = LOG_WARN,
                                            [SEVERITY_ERROR] = LOG_ERROR,
                                            [SEVERITY_NOTE_ALOUD] = LOG_NOTE};
    if (levels[severity] != LOG_DEBUG || log_debug_on())
        log_say(levels[severity], (uintptr_t)intern_hash(text, strlen(text)), text);
}

/* Returns true if the text was held back until messages_release. */
static bool hold(enum severity severity, const char *text)
{
    pthread_mutex_lock(&lock);
    bool held_now = holding && held_count < HELD_MAX && severity != SEVERITY_NOTE;
    if (held_now) {
        struct held *h = &held[held_count++];
        h->severity = severity;
        snprintf(h->text, sizeof h->text, "%s", text);
    }
    pthread_mutex_unlock(&lock);
    return held_now;
}

void messages_hold(void)
{
    pthread_mutex_lock(&lock);
    holding = true;
    pthread_mutex_unlock(&lock);
}

void messages_release(bool say)
{
    static struct held one; /* the caller's alone: one session starts at a time */
    for (unsigned i = 0;; i++) {
        pthread_mutex_lock(&lock);
        bool more = i < held_count;
        if (more)
            one = held[i];
        else
            held_count = 0, holding = false;
        pthread_mutex_unlock(&lock);
        if (!more)
            return;
        if (say)
            say_aloud(one.severity, one.text);
    }
}

void message_vsay(enum severity severity, const char *code, const char *fmt, va_list args)
{
    bool note = severity == SEVERITY_NOTE_ALOUD;
    struct message m = {.time = clock_mono(), .severity = note ? SEVERITY_NOTE : severity};
    snprintf(m.code, sizeof m.code, "%s", code);
    vsnprintf(m.text, sizeof m.text, fmt, args);
    if (!hold(severity, m.text))
        say_aloud(severity, m.text);
    pthread_mutex_lock(&lock);
    if (queued < QUEUE_MAX)
        queue[queued++] = m;
    else
        dropped++;
    pthread_mutex_unlock(&lock);
}

void message_say(enum severity severity, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    message_vsay(severity, code, fmt, args);
    va_end(args);
}

static void message_write(struct writer *w, struct intern *names, const struct message *m)
{
    struct message_row row = {
        .time = m->time,
        .severity = m->severity,
        .code = intern_str(names, m->code),
        .text = intern_str(names, m->text),
    };
    writer_row(w, RECORD_message, (const int64_t *)&row);
}

void messages_drain(struct writer *w, struct intern *names)
{
    struct message m;
    for (;;) {
        pthread_mutex_lock(&lock);
        if (queued == 0)
            break;
        m = queue[0];
        memmove(queue, queue + 1, --queued * sizeof queue[0]);
        pthread_mutex_unlock(&lock);
        message_write(w, names, &m);
    }
    unsigned n = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    if (n) {
        m = (struct message){clock_mono(), SEVERITY_NOTE, "messages_dropped", ""};
        snprintf(m.text, sizeof m.text, "%u messages were left out here", n);
        message_write(w, names, &m);
    }
}

void messages_begin(void)
{
    pthread_mutex_lock(&lock);
    queued = dropped = held_count = 0;
    holding = false;
    memset(features, 0, sizeof features);
    for (int i = 0; i < FEATURE_COUNT; i++)
        snprintf(features[i].name, sizeof features[i].name, "%s", feature_names[i]);
    pthread_mutex_unlock(&lock);
}

void messages_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    messages_begin();
}

/* ---- features ------------------------------------------------------------------------------- */

static void feature_fill(struct feature_state *f, bool requested, const char *status,
                         const char *reason)
{
    f->known = true;
    f->requested = requested;
    snprintf(f->status, sizeof f->status, "%s", status ? status : "");
    snprintf(f->reason, sizeof f->reason, "%s", reason ? reason : "");
}

/* The lock is held. NULL: there is no room for one more. */
static struct feature_state *feature_find(const char *feature)
{
    for (int i = 0; i < FEATURE_COUNT + EXTRA_FEATURES; i++) {
        struct feature_state *f = &features[i];
        if (!f->name[0])
            snprintf(f->name, sizeof f->name, "%s", feature);
        if (strcmp(f->name, feature) == 0)
            return f;
    }
    return NULL;
}

void feature_set(const char *feature, bool requested, const char *status, const char *reason)
{
    pthread_mutex_lock(&lock);
    struct feature_state *f = feature_find(feature);
    if (f)
        feature_fill(f, requested, status, reason);
    pthread_mutex_unlock(&lock);
}

void feature_end(const char *feature, const char *status, const char *reason)
{
    pthread_mutex_lock(&lock);
    struct feature_state *f = feature_find(feature);
    if (f && (!f->known || strcmp(f->status, "partial") != 0))
        feature_fill(f, true, status, reason);
    pthread_mutex_unlock(&lock);
}

void feature_conclude(enum feature id, bool requested, const char *status, const char *reason)
{
    struct feature_state *f = &features[id];
    pthread_mutex_lock(&lock);
    if (!f->known || strcmp(f->status, "collected") == 0)
        feature_fill(f, requested, status, reason);
    pthread_mutex_unlock(&lock);
}

void features_write(struct writer *w, struct intern *names)
{
    for (int i = 0; i < FEATURE_COUNT + EXTRA_FEATURES; i++) {
        pthread_mutex_lock(&lock);
        struct feature_state f = features[i];
        pthread_mutex_unlock(&lock);
        if (!f.known)
            continue;
        struct capability_row row = {
            .feature = intern_str(names, f.name),
            .requested = f.requested,
            .status = intern_str(names, f.status),
            .reason = intern_str(names, f.reason),
        };
        writer_row(w, RECORD_capability, (const int64_t *)&row);
    }
}
