/* test_sum_ledger.c - every loss is reported with its cause, and nothing else is. */
#include "analyze/model/model.h"
#include "tests/test.h"

#include "tests/unit/support/rows.h"

#include <string.h>

static struct ledger_row clean_row(void)
{
    return (struct ledger_row){.time = 100,
                               .final = 1,
                               .launches = 90,
                               .graph_launches = 1,
                               .graph_kernels = 10,
                               .kernels_recorded = 100,
                               .kernels_written = 100,
                               .copies_recorded = 4,
                               .copies_written = 4,
                               .syncs_recorded = 2,
                               .syncs_written = 2,
                               .graphs_recorded = CELL_NULL,
                               .graphs_written = CELL_NULL};
}

/* A model with that ledger row and the rows that a whole log would hold. */
static void make(struct model *m, struct ledger_row row, bool ended)
{
    model_init(m, names);
    rows_put(m, RECORD_ledger, &row);
    m->facts.rows[RECORD_kernel] = 100;
    m->facts.rows[RECORD_memcpy] = 3;
    m->facts.rows[RECORD_memset] = 1;
    m->facts.rows[RECORD_sync] = 2;
    m->facts.ended = ended;
    assert_int_equal(model_finish(m), 0);
}

static void check(struct ledger_row row, bool ended, enum ledger_verdict verdict,
                  const char *sentence)
{
    struct model m;
    struct buf text;
    buf_init(&text, 1 << 16);
    make(&m, row, ended);
    assert_int_equal(sum_ledger_judge(&m, &text), verdict);
    if (sentence)
        assert_non_null(strstr(buf_cstr(&text), sentence));
    else
        assert_string_equal(buf_cstr(&text), "");
    buf_fini(&text);
    model_fini(&m);
}

TEST(test_closes)
{
    check(clean_row(), true, LEDGER_COMPLETE, NULL);
}

TEST(test_missing)
{
    struct ledger_row r = clean_row();
    r.launches = 1290;
    check(r, true, LEDGER_INCOMPLETE, "1,200 kernels of 1,300 launched never reached the log");
    r.final = 0;
    check(r, false, LEDGER_INCOMPLETE, "when the process ended");
}

/* --duration ends the capture while the program goes on: it explains the few kernels that were
 * queued, but not many, nor any in addition to known losses. */
TEST(test_missing_at_duration)
{
    static const struct {
        const char *reason;
        int64_t missing, dropped, untimed;
        const char *sentence;
    } cases[] = {
        {"duration", 1, 0, 0, "1 kernel of 101 launched never reached the log: the capture's time"},
        {"exit", 1, 0, 0, "the driver gives no reason"},
        {"duration", 100000, 0, 0, "the driver gives no reason"},
        {"duration", 1, 1, 0, "never reached the log: the driver dropped records."},
        {"exit", 1, 0, 1, "impossible timestamps, which a kernel leaves that faults"},
        {"exit", 2, 0, 1, "the driver gives no reason"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model m;
        struct buf text;
        struct ledger_row r = clean_row();
        buf_init(&text, 1 << 16);
        r.launches = 100 + cases[i].missing;
        r.graph_kernels = 0;
        r.lost_driver = cases[i].dropped;
        r.lost_time = cases[i].untimed;
        make(&m, r, true);
        m.facts.end_reason = intern_str(names, cases[i].reason);
        assert_int_equal(sum_ledger_judge(&m, &text), LEDGER_INCOMPLETE);
        assert_non_null(strstr(buf_cstr(&text), cases[i].sentence));
        buf_fini(&text);
        model_fini(&m);
    }
}

TEST(test_causes)
{
    static const struct {
        unsigned column;
        const char *sentence;
    } causes[] = {
        {COL_ledger_lost_driver, "7 records dropped by the driver"},
        {COL_ledger_lost_pool, "7 buffers refused"},
        {COL_ledger_lost_time, "7 records not written: impossible timestamps"},
        {COL_ledger_lost_spool, "7 rows not written: disk"},
        {COL_ledger_lost_memory, "7 rows not written: out of memory"},
        {COL_ledger_lost_floor, "7 kernels only counted"},
        {COL_ledger_scopes_lost, "7 scopes not recorded"},
        {COL_ledger_joins_lost, "7 launches not joined"},
        {COL_ledger_captures_lost, "7 launches not captured, so the line that caused idle time"},
        {COL_ledger_waits_lost, "7 waits not recorded: a thread's ring was full"},
        {COL_ledger_stacks_lost, "7 stacks not captured: too many different stacks"},
        {COL_ledger_stacks_cut, "7 stacks cut at a file of code"},
        {COL_ledger_samples_lost, "7 samples or ranges of the hardware not read"},
    };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        struct ledger_row r = clean_row();
        ((int64_t *)&r)[causes[i].column] = 7;
        check(r, true, LEDGER_INCOMPLETE, causes[i].sentence);
    }
    struct ledger_row r = clean_row();
    r.unknown_records = 7;
    check(r, true, LEDGER_COMPLETE, "7 records of a kind that this version does not read");
}

TEST(test_files_short)
{
    struct ledger_row r = clean_row();
    r.launches = r.kernels_recorded = r.kernels_written = 130;
    r.graph_kernels = 0;
    check(r, true, LEDGER_INCOMPLETE, "30 kernel rows of 130 written are not in the files read");
}

TEST(test_uncounted)
{
    struct ledger_row r = clean_row();
    r.launches = CELL_NULL;
    check(r, true, LEDGER_UNCOUNTED, NULL);
    r = clean_row();
    r.graph_unknown = 3;
    check(r, true, LEDGER_UNCOUNTED, "3 graph launches");
    r = clean_row();
    r.final = 0;
    check(r, false, LEDGER_UNCOUNTED, "last heartbeat");
}

/* A process that ends by _exit leaves the ledger of its last heartbeat, and rows that came after
 * it: a kernel that was read is not missing. */
TEST(test_rows_after_the_last_heartbeat)
{
    struct model all, m;
    struct buf text;
    struct ledger_row r = clean_row();
    r.final = 0;
    r.launches = 49; /* and 10 of graphs */
    r.kernels_recorded = r.kernels_written = 57;
    r.copies_recorded = r.copies_written = 1;
    r.syncs_recorded = 3; /* one has not been written yet */
    r.syncs_written = 1;
    check(r, false, LEDGER_UNCOUNTED, "last heartbeat");
    buf_init(&text, 1 << 16);
    make(&m, r, false);
    model_init(&all, names);
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(sum_ledger_judge(&all, &text), LEDGER_UNCOUNTED);
    assert_null(strstr(buf_cstr(&text), "never reached"));
    assert_int_equal(sum_ledger_launched(&all.ledger), 200);
    assert_int_equal(all.ledger.row.kernels_recorded, 200);
    assert_int_equal(all.ledger.row.kernels_written, 200);
    assert_int_equal(all.ledger.row.copies_written, 8);
    assert_int_equal(all.ledger.row.syncs_recorded, 6);
    assert_int_equal(all.ledger.row.syncs_written, 4);
    model_fini(&all);
    model_fini(&m);
    r.launches = 93; /* more than were read: the rest is missing */
    check(r, false, LEDGER_INCOMPLETE, "3 kernels of 103 launched never reached the log");
    r.launches = CELL_NULL; /* unknown stays so */
    r.kernels_recorded = CELL_NULL;
    make(&m, r, false);
    assert_int_equal(m.ledger.row.launches, CELL_NULL);
    assert_int_equal(m.ledger.row.kernels_recorded, CELL_NULL);
    model_fini(&m);
    buf_fini(&text);
}

TEST(test_last_row_counts)
{
    struct model m;
    struct ledger_row a = clean_row(), b = clean_row();
    b.time = 50;
    b.launches = 1;
    model_init(&m, names);
    rows_put(&m, RECORD_ledger, &a);
    rows_put(&m, RECORD_ledger, &b); /* older */
    assert_int_equal(m.ledger.row.launches, 90);
    b.time = 500;
    b.final = 0; /* a heartbeat never replaces the closing row */
    rows_put(&m, RECORD_ledger, &b);
    assert_int_equal(m.ledger.row.launches, 90);
    model_fini(&m);
}

TEST(test_merge)
{
    struct model all, m;
    struct ledger_row unknown = clean_row();
    unknown.launches = CELL_NULL;
    model_init(&all, names);
    make(&m, clean_row(), true);
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(all.ledger.row.kernels_written, 200);
    assert_int_equal(sum_ledger_launched(&all.ledger), 200);
    model_fini(&m);
    make(&m, unknown, true); /* unknown is not zero */
    assert_int_equal(model_merge(&all, &m), 0);
    assert_int_equal(all.ledger.row.launches, CELL_NULL);
    model_fini(&m);
    model_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closes),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_missing_at_duration),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_files_short),
        cmocka_unit_test(test_uncounted),
        cmocka_unit_test(test_rows_after_the_last_heartbeat),
        cmocka_unit_test(test_last_row_counts),
        cmocka_unit_test(test_merge),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
