/* test_states.c - tests one state from the states of a GPU that several sessions report. */
#include "server/intake/states.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define SECOND "000000000"

/* Joins both, and compares. NULL: `state` needs no change. */
static void joins(const char *state, const char *other, const char *both)
{
    char *out = states_join(state, other);
    if (both && (!out || strcmp(out, both) != 0))
        fail_msg("%s and %s: %s, not %s", state, other, out ? out : "nothing", both);
    if (!both && out)
        fail_msg("%s and %s: %s, where nothing is new", state, other, out);
    mem_free(out);
}

static const char monitor[] =
    "{\"time\":\"8" SECOND "\",\"session\":\"m\",\"power\":1,\"sm_active\":2}";
static const char program[] = "{\"time\":\"9" SECOND "\",\"session\":\"p\",\"power\":3}";
static const char both[] = "{\"time\":\"9" SECOND "\",\"session\":\"p\",\"power\":3,\"kept\":"
                           "{\"sm_active\":[\"8" SECOND "\",\"m\"]},\"sm_active\":2}";

TEST(one_session)
{
    joins("", program, program);
    joins(program, "", NULL);
    joins("", "", NULL);
    /* A member that its own session no longer reports is unknown. */
    joins("{\"time\":\"7\",\"session\":\"p\",\"power\":3,\"fan\":4}", program, program);
    joins(program, "{\"time\":\"7\",\"session\":\"p\",\"power\":3,\"fan\":4}", NULL);
}

TEST(two_sessions)
{
    joins(monitor, program, both);
    joins(program, monitor, both); /* whichever comes first */
    joins(both, monitor, both);
    /* The monitor's next state has the member itself, and nothing is kept of the program. */
    joins(both, "{\"time\":\"10" SECOND "\",\"session\":\"m\",\"power\":1,\"sm_active\":5}",
          "{\"time\":\"10" SECOND "\",\"session\":\"m\",\"power\":1,\"sm_active\":5}");
    /* The monitor's next state came late: its members are newer than those that were kept. */
    joins("{\"time\":\"9" SECOND "\",\"session\":\"p\",\"power\":3,\"kept\":{\"sm_active\":"
          "[\"7" SECOND "\",\"m\"]},\"sm_active\":1}",
          monitor, both);
    /* If the monitor's session ceases to report it, nobody does. */
    joins(both, "{\"time\":\"8500000000\",\"session\":\"m\",\"power\":1}", program);
    joins(both, "{\"time\":\"10" SECOND "\",\"session\":\"m\",\"power\":1}",
          "{\"time\":\"10" SECOND "\",\"session\":\"m\",\"power\":1}");
}

TEST(three_sessions)
{
    joins(both, "{\"time\":\"10" SECOND "\",\"session\":\"q\",\"fan\":7}",
          "{\"time\":\"10" SECOND "\",\"session\":\"q\",\"fan\":7,\"kept\":{\"power\":[\"9" SECOND
          "\",\"p\"],\"sm_active\":[\"8" SECOND "\",\"m\"]},\"power\":3,\"sm_active\":2}");
}

TEST(what_is_too_old)
{
    const char *late = "{\"time\":\"139" SECOND "\",\"session\":\"p\",\"power\":3}";
    joins(monitor, late, late); /* 131 s */
    joins(both, late, late);
    joins(late, monitor, late);
    joins(monitor, "{\"time\":\"138" SECOND "\",\"session\":\"p\",\"power\":3}",
          "{\"time\":\"138" SECOND
          "\",\"session\":\"p\",\"power\":3,\"kept\":{\"sm_active\":[\"8" SECOND
          "\",\"m\"]},\"sm_active\":2}");
}

/* States of older servers have no session; a damaged text is no state. */
TEST(other_forms)
{
    joins("{\"time\":\"8" SECOND "\",\"power\":1,\"sm_active\":2}", program,
          "{\"time\":\"9" SECOND
          "\",\"session\":\"p\",\"power\":3,\"kept\":{\"sm_active\":[\"8" SECOND
          "\",\"\"]},\"sm_active\":2}");
    joins("{\"time\":\"8", program, program);
    joins(program, "{\"time\":\"9", NULL);
    joins("[1]", program, program);
    joins(program, "{\"time\":\"8" SECOND "\",\"session\":\"m\",\"kept\":7,\"fan\":1}",
          "{\"time\":\"9" SECOND "\",\"session\":\"p\",\"power\":3,\"kept\":{\"fan\":[\"8" SECOND
          "\",\"m\"]},\"fan\":1}");
}

/* Both together are longer than a row should hold: only the newer one is kept. */
TEST(long_ones)
{
    static char text[9000];
    int n = snprintf(text, sizeof text, "{\"time\":\"8" SECOND "\",\"session\":\"m\",\"text\":\"");
    memset(text + n, 'x', 8200);
    strcpy(text + n + 8200, "\"}");
    joins(text, program, program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_session),    cmocka_unit_test(two_sessions),
        cmocka_unit_test(three_sessions), cmocka_unit_test(what_is_too_old),
        cmocka_unit_test(other_forms),    cmocka_unit_test(long_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
