/* test_symbolize_progress.c - the progress of looking up names is shown only on a terminal, and not
 * at once. */
#include "analyze/symbolize/inside.h"
#include "tests/test.h"

#include <pty.h>
#include <string.h>
#include <unistd.h>

/* Gets what a lookup that began at `begun` prints on stderr, a terminal or a pipe. */
static size_t say(bool terminal, int64_t begun, char *text, size_t size)
{
    struct symbolize z = {0};
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(terminal ? openpty(&ends[0], &ends[1], NULL, NULL, NULL) : pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    symbolize_progress(&z);
    symbolize_progress_begin(&z);
    z.progress.begun = begun ? begun : z.progress.begun;
    symbolize_progress_say(&z, "frame", 3, 9);
    bool said = z.progress.said != 0;
    symbolize_progress_end(&z);
    assert_int_equal(z.progress.said, 0);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    close(ends[1]);
    /* A terminal delivers its data later, and in pieces; at its end read fails (EIO). */
    size_t used = 0;
    for (ssize_t n = 1; n > 0; used += n > 0 ? (size_t)n : 0) {
        assert_true(used < size - 1);
        n = read(ends[0], text + used, size - 1 - used);
    }
    close(ends[0]);
    text[used] = '\0';
    assert_int_equal(said, used > 0);
    return used;
}

TEST(test_progress)
{
    char text[256];
    assert_true(say(true, 1, text, sizeof text) > 0);
    assert_non_null(strstr(text, "gpufl: looking up names, frame 3 of 9"));
    assert_string_equal(text + strlen(text) - 4, "\r\033[K");
    assert_int_equal(say(true, INT64_MAX / 2, text, sizeof text), 0);
    assert_int_equal(say(false, 1, text, sizeof text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_progress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
