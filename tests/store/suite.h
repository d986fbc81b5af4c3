/* suite.h - has the conformance suite: the cases that every engine must pass, run with the engine
 * under test. */
#ifndef GPUFL_TESTS_STORE_SUITE_H
#define GPUFL_TESTS_STORE_SUITE_H

#include "fixture.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describes the engine at hand; set by the test program before it runs the cases. */
struct suite {
    const struct store_ops *ops;
    struct store_config config;
    struct store *store;      /* opened by suite_setup */
    struct fixture recorded;  /* the session in examples/data */
    struct fixture simulated; /* one of the simulated GPU */
    char folder[64];          /* scratch space of this run */
    const char *session;      /* of the fixture at hand */
};

extern struct suite suite;

/* suite_setup opens the engine and reads the fixtures; suite_teardown closes and removes all. For a
 * whole group. */
int suite_setup(void **state);
int suite_teardown(void **state);

/* Returns a session with the rows of a fixture, loaded under the given name. */
struct store_session *suite_loaded(const char *id, const struct fixture *f);

#define OK(call)                                                                                   \
    do {                                                                                           \
        struct err suite_err = {0};                                                                \
        struct err *e = &suite_err;                                                                \
        int suite_code = (call);                                                                   \
        if (suite_code)                                                                            \
            fail_msg("%s: %s: %s", #call, err_name(suite_code), suite_err.text);                   \
    } while (0)

/* Lists the cases of each subject, for cmocka_run_group_tests. */
#define SUITE_ROWS(X)                                                                              \
    X(rows_come_back)                                                                              \
    X(positions_go_with_commits)                                                                   \
    X(rollback_leaves_nothing)                                                                     \
    X(a_held_state_stays)                                                                          \
    X(scan_is_bounded_by_time)                                                                     \
    X(unknown_lines_are_kept)                                                                      \
    X(texts_of_all_kinds)                                                                          \
    X(ids_are_checked)                                                                             \
    X(one_writer_at_a_time)

#define SUITE_KERNELS(X)                                                                           \
    X(kernels_by_name)                                                                             \
    X(kernels_in_order)                                                                            \
    X(kernels_by_pattern)                                                                          \
    X(kernels_by_readable_name)                                                                    \
    X(one_kernel)                                                                                  \
    X(configurations_of_a_kernel)                                                                  \
    X(configurations_as_recorded)                                                                  \
    X(histogram_of_a_kernel)                                                                       \
    X(single_launches)                                                                             \
    X(kernels_of_many_slices)

#define SUITE_TIMELINE(X)                                                                          \
    X(lanes_of_a_session)                                                                          \
    X(streams_and_threads)                                                                         \
    X(each_level_has_all_events)                                                                   \
    X(events_of_a_window)                                                                          \
    X(search_by_name)                                                                              \
    X(threads_looked_at)                                                                           \
    X(samples_in_steps)                                                                            \
    X(captured_launches)                                                                           \
    X(waits_with_stacks)                                                                           \
    X(marks_by_time)                                                                               \
    X(marks_as_events)                                                                             \
    X(no_marks)

#define SUITE_REST(X)                                                                              \
    X(copies_by_kind)                                                                              \
    X(memory_held)                                                                                 \
    X(series_of_metrics)                                                                           \
    X(counters_over_time)                                                                          \
    X(who_samples)                                                                                 \
    X(events_of_gpus)                                                                              \
    X(counts_of_rows)                                                                              \
    X(sources_in_pieces)                                                                           \
    X(nothing_to_report)                                                                           \
    X(absurd_numbers)                                                                              \
    X(history_of_kernels)                                                                          \
    X(history_of_scopes)                                                                           \
    X(history_of_trends)                                                                           \
    X(history_names)

#define SUITE_FILES(X)                                                                             \
    X(deleted_while_read)                                                                          \
    X(workspaces_are_apart)                                                                        \
    X(more_sessions_than_are_open)                                                                 \
    X(backup_is_a_store)                                                                           \
    X(tables_as_parquet)                                                                           \
    X(opened_and_closed_by_many)                                                                   \
    X(readers_and_a_writer)

#define SUITE_COPIES(X)                                                                            \
    X(copied_and_back)                                                                             \
    X(copies_of_others_are_refused)

#define SUITE_DICTIONARIES(X)                                                                      \
    X(devices_become_known)                                                                        \
    X(threads_change_names)                                                                        \
    X(very_many_threads)                                                                           \
    X(others_stay_as_they_are)

#define SUITE_ALL(X)                                                                               \
    SUITE_ROWS(X)                                                                                  \
    SUITE_DICTIONARIES(X)                                                                          \
    SUITE_KERNELS(X) SUITE_TIMELINE(X) SUITE_REST(X) SUITE_FILES(X) SUITE_COPIES(X)

#define SUITE_DECLARE(name) void suite_##name(void **state);
SUITE_ALL(SUITE_DECLARE)

#endif
