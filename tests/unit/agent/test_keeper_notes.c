/* Tests what the keeper notes: over restarts, lines that a crash cut off, and another archive. */
#include "agent/keep/keeper_notes.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct keeper_notes *open_notes(const char *target)
{
    struct keeper_notes *n;
    struct err e = {0};
    if (keeper_notes_open(&n, tmpdir_path("."), target, &e))
        fail_msg("%s", e.text);
    return n;
}

static void take(void *arg, const char *session, const char *hidden)
{
    strcat(strcat(strcat(strcat(arg, session), "="), hidden), ";");
}

static void assert_unended(struct keeper_notes *n, const char *want)
{
    char got[200] = "";
    keeper_notes_unended(n, take, got);
    assert_string_equal(got, want);
}

TEST(notes_stay)
{
    struct keeper_notes *n = open_notes("here");
    assert_int_equal(keeper_notes_archived(n, "a", 5, NULL), 0);
    assert_int_equal(keeper_notes_archived(n, "b", 6, NULL), 0);
    assert_int_equal(keeper_notes_archived(n, "a", 7, NULL), 0);
    assert_int_equal(keeper_notes_removing(n, "b", "/x y/.b", NULL), 0);
    keeper_notes_close(n);
    for (int i = 0; i < 2; i++) { /* as appended, and as written again */
        n = open_notes("here");
        assert_true(keeper_notes_has(n, "a", 7));
        assert_false(keeper_notes_has(n, "a", 5));
        assert_unended(n, "b=/x y/.b;");
        keeper_notes_close(n);
    }
    n = open_notes("here");
    assert_int_equal(keeper_notes_removed(n, "b", NULL), 0);
    assert_false(keeper_notes_has(n, "b", 6));
    assert_unended(n, "");
    keeper_notes_close(n);
    n = open_notes("here");
    assert_false(keeper_notes_has(n, "b", 6));
    assert_unended(n, "");
    keeper_notes_close(n);
}

TEST(another_archive_has_nothing)
{
    struct keeper_notes *n = open_notes("here");
    assert_int_equal(keeper_notes_archived(n, "c", 5, NULL), 0);
    assert_int_equal(keeper_notes_removing(n, "d", "/d", NULL), 0);
    keeper_notes_close(n);
    n = open_notes("there");
    assert_false(keeper_notes_has(n, "c", 5));
    assert_unended(n, "d=/d;"); /* an unfinished removal counts for every archive */
    keeper_notes_close(n);
}

TEST(a_line_that_was_cut_off_does_not_count)
{
    struct keeper_notes *n = open_notes("cut");
    assert_int_equal(keeper_notes_archived(n, "e", 5, NULL), 0);
    keeper_notes_close(n);
    FILE *f = fopen(tmpdir_path("archive.notes"), "a");
    fputs("archived 55", f);
    fclose(f);
    n = open_notes("cut");
    assert_true(keeper_notes_has(n, "e", 5));
    assert_int_equal(keeper_notes_archived(n, "f", 6, NULL), 0);
    keeper_notes_close(n);
    n = open_notes("cut");
    assert_true(keeper_notes_has(n, "f", 6));
    keeper_notes_close(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_stay),
        cmocka_unit_test(another_archive_has_nothing),
        cmocka_unit_test(a_line_that_was_cut_off_does_not_count),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
