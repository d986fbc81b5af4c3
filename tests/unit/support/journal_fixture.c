/* journal_fixture.c - see journal_fixture.h. */
#include "tests/unit/support/journal_fixture.h"

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char payload[1 << 20];

struct seen *seen_new(void)
{
    struct seen *s = calloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void take_frame(void *arg, const struct journal_frame *f, struct journal_place p)
{
    struct seen *s = arg;
    pthread_mutex_lock(&s->lock);
    assert_true(s->count < JOURNAL_MOST);
    s->frames[s->count] = *f;
    s->places[s->count++] = p;
    pthread_mutex_unlock(&s->lock);
}

struct journal *open_journal(struct seen *s, int64_t segment_bytes, int64_t most_bytes)
{
    struct err e = {0};
    struct journal *j;
    struct journal_config c = {.folder = tmpdir_path("journal"),
                               .segment_bytes = segment_bytes,
                               .most_bytes = most_bytes,
                               .keep_free = 1,
                               .arg = s,
                               .durable = take_frame};
    if (journal_open(&j, &c, &e))
        fail_msg("%s", e.text);
    return j;
}

/* Makes a payload that contains its number; sizes are from 0 to half a megabyte. */
static size_t make_payload(unsigned i, char *out)
{
    size_t n = i % 7 == 0 ? 0 : (i * 2654435761u) % (i % 11 == 0 ? 500000 : 900);
    for (size_t at = 0; at < n; at++)
        out[at] = (char)('a' + (at / 8 + i) % 26);
    return n;
}

struct journal_frame make_frame(unsigned i)
{
    struct journal_frame f = {.kind = JOURNAL_LINES,
                              .offset = 1000 * (int64_t)i,
                              .length = 1000,
                              .received = 1770000000000000000 + i,
                              .lines = i,
                              .damaged = i / 2,
                              .too_long = i / 3};
    snprintf(f.workspace, sizeof f.workspace, "w%u", i % 3);
    snprintf(f.session, sizeof f.session, "session-%u", i % 5);
    snprintf(f.channel, sizeof f.channel, "device");
    f.plain = (uint32_t)make_payload(i, payload);
    return f;
}

void append(struct journal *j, unsigned i)
{
    struct err e = {0};
    struct journal_frame f = make_frame(i);
    if (journal_append(j, &f, payload, &e))
        fail_msg("%s", e.text);
}

void check_frame(struct journal_reader *r, const struct seen *s, size_t at, unsigned i)
{
    static char want[1 << 20];
    struct journal_frame f = {0}, expected = make_frame(i);
    struct err e = {0};
    char *got;
    size_t n = make_payload(i, want);
    expected.number = s->frames[at].number;
    assert_memory_equal(&s->frames[at], &expected, sizeof expected);
    if (journal_read(r, s->places[at], &f, &got, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(&f, &expected, sizeof f);
    if (n)
        assert_memory_equal(got, want, n);
}

unsigned files_ending(const char *suffix)
{
    DIR *d = opendir(tmpdir_path("journal"));
    const struct dirent *e;
    unsigned n = 0;
    assert_non_null(d);
    while ((e = readdir(d))) {
        size_t len = strlen(e->d_name), end = strlen(suffix);
        n += len > end && strcmp(e->d_name + len - end, suffix) == 0;
    }
    closedir(d);
    return n;
}
