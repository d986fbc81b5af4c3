/* intake_fixture.h - opens, for tests, a store, the small tables and the intake of sessions, in the
 * test's directory; bodies sent to it, and the contents of its columns afterwards. */
#ifndef GPUFL_TESTS_INTAKE_FIXTURE_H
#define GPUFL_TESTS_INTAKE_FIXTURE_H

#include "server/intake/intake.h"

struct fixture {
    struct meta *meta;
    struct store *store;
    struct intake intake;
    int64_t memory;              /* the store's, in bytes; 0: its default */
    struct intake_config config; /* the intake's; may be changed between fixture_down and _up */
};

/* Holds the test's fixture. fixture_begin makes it empty, with a directory of its own (tmpdir.h),
 * and opens nothing. */
extern struct fixture fix;
int fixture_begin(void **state);
int fixture_end(void **state); /* closes nothing */

/* fixture_open is fixture_begin, and opens all in the directory; fixture_close closes all, and is
 * fixture_end. */
int fixture_open(void **state);
int fixture_close(void **state);

/* Opens all in dir, where it may have been open before. The test fails if that is not possible. */
void fixture_up(struct fixture *f, const char *dir);
void fixture_down(struct fixture *f);

/* Counts the rows of a record, or the lines that are kept as unknown, in a session's columns; -1:
 * there is no session. */
int64_t fixture_rows(struct fixture *f, const char *session, const char *record);
int64_t fixture_unknown(struct fixture *f, const char *session, const char *channel);

/* Holds the number of a session's kernels, and the sums of their durations and correlations. */
struct fixture_kernels {
    int64_t count, duration, correlation;
};
struct fixture_kernels fixture_kernels(struct fixture *f, const char *session);

/* Returns the session's row in the small tables, with texts in *mem, which it makes; if there is no
 * row, its state is "none". */
struct meta_session fixture_entry(const char *session, struct region *mem);

/* Waits until the row has that state; false: it had not within PATIENCE_NS. */
bool fixture_reaches(const char *session, const char *state);

/* Drains, and checks that the session has kernels of correlation 0 to count - 1, each once. */
void fixture_check_kernels(const char *session, int64_t count);

/* Sends a body; whole: in one piece, else in pieces of that many bytes. */
void fixture_send(struct fixture *f, const struct ingest_request *r, const void *data, size_t n,
                  size_t piece, struct ingest_answer *a);

/* Sends a text in pieces of 1000 bytes. */
struct ingest_answer fixture_text(const struct ingest_request *r, const char *text, size_t n);

/* Makes a request for a session of workspace "w", by offset if there is a channel. */
struct ingest_request fixture_request(const char *session, const char *channel, int64_t offset);

/* Waits until the loader's figures are so, and returns them. The test fails if they never are. */
struct loader_stats fixture_wait_for(bool (*done)(const struct loader_stats *));

/* Waits until all that was accepted is in the columns. */
void fixture_drain(struct fixture *f);

/* Returns the text of `batches` kernel lines of 10 rows, malloc'ed. header: the header of a part is
 * before them. Correlations count up from `first`. */
char *fixture_lines(const char *session, int64_t first, int batches, bool header, size_t *len);

/* Sends fixture_lines as the session's channel "device", with a header if first is 0, and adds
 * their length to *offset. The answer must be 200. */
void fixture_send_rows(const char *session, int64_t first, int batches, int64_t *offset);

/* Returns the text packed with gzip or zstd, malloc'ed. */
char *fixture_gzip(const char *text, size_t n, size_t *len);
char *fixture_zstd(const char *text, size_t n, size_t *len);

#endif
