/* journal_fixture.h - has numbered frames of a journal, and the frames that it returned. */
#ifndef GPUFL_TESTS_JOURNAL_FIXTURE_H
#define GPUFL_TESTS_JOURNAL_FIXTURE_H

#include "server/intake/frame.h"
#include "server/intake/journal.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_MOST = 20000 };

struct seen {
    pthread_mutex_t lock;
    struct journal_frame frames[JOURNAL_MOST];
    struct journal_place places[JOURNAL_MOST];
    size_t count;
};

/* Makes an empty list, which the caller frees. */
struct seen *seen_new(void);

/* This is the function for journal_config.durable. arg: a struct seen. */
void take_frame(void *arg, const struct journal_frame *f, struct journal_place p);

/* Opens a journal in the folder "journal" of the test's directory. */
struct journal *open_journal(struct seen *s, int64_t segment_bytes, int64_t most_bytes);

/* Makes the i-th frame; its payload is in `payload` until the next one is made. */
extern char payload[1 << 20];
struct journal_frame make_frame(unsigned i);
void append(struct journal *j, unsigned i);

/* Checks that the frame that was seen at that place is the i-th one, and is read back as such. */
void check_frame(struct journal_reader *r, const struct seen *s, size_t at, unsigned i);

/* Counts the files of the journal's folder whose names end so. */
unsigned files_ending(const char *suffix);

#endif
