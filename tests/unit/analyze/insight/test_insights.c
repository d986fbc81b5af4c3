/* test_insights.c - tests all rules together: clean programs, order, failing memory, and the
 * document. */
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

TEST(test_clean)
{
    finder_begin("clean");
    for (int i = 0; i < 300; i++)
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
    program_sync(&finder.p, WAIT_CONTEXT, finder_python("a.py", "main", 50), 1);
    finder_look();
    finder_only("sync_line", "");
    finder_end();
    finder_begin("nothing");
    finder_look();
    assert_int_equal(finder.found.count, 0);
    finder_end();
}

/* Findings are in bands by what they give back, the highest band first. In a band measured findings
 * come before estimated ones, each by what it gives back. Findings that give back nothing are in
 * order of severity. */
TEST(test_order)
{
    finder_begin("order");
    finder_kernels((struct config_row){.occ_warps = 4, .occ_max_warps = 64, .registers = 255},
                   program_name(&finder.p, "registers"));
    finder_steps(30, 4, finder_python("a.py", "f", 5), true);
    finder_gaps(20, 3000000, 2000000);
    finder_look();
    assert_true(finder.found.count >= 4);
    unsigned changes = 0;
    for (size_t i = 1; i < finder.found.count; i++) {
        const struct insight *a = &finder.found.items[i - 1], *b = &finder.found.items[i];
        bool same = a->band == b->band;
        changes += !same;
        assert_true(a->band >= b->band);
        assert_true(!same || a->band || a->severity >= b->severity);
        assert_true(!same || a->rule->bound < b->rule->bound || !b->gives_back ||
                    (a->rule->bound == b->rule->bound && a->gives_back >= b->gives_back));
    }
    assert_true(changes > 0);
    finder_end();
}

TEST(test_no_memory)
{
    finder_begin("memory");
    finder_kernels(
        (struct config_row){
            .occ_warps = 4, .occ_max_warps = 64, .registers = 255, .local_per_thread = 8},
        program_name(&finder.p, "registers"));
    finder_steps(30, 4, finder_python("a.py", "f", 5), true);
    finder_gaps(20, 3000000, 2000000);
    finder_look();
    finder_without_memory();
    finder_end();
}

static const char INSIGHTS[] = "insights.md";

/* The page has the row; conditions with numbers, "(2) ...", begin on a line of the cell each. */
static void has_row(const char *text, const char *what, const char *sentence)
{
    char line[1024];
    size_t at = (size_t)snprintf(line, sizeof line, "| %s | ", what);
    for (const char *s = sentence; *s && at < sizeof line - 16; s++) {
        bool numbered = s[0] == ' ' && s[1] == '(' && isdigit((unsigned char)s[2]) && s[3] == ')';
        at += (size_t)snprintf(line + at, sizeof line - at, numbered ? "<br>" : "%c", *s);
    }
    snprintf(line + at, sizeof line - at, " |\n");
    document_has(INSIGHTS, text, line);
}

/* docs/insights.md says of every rule and every threshold what the table says. */
TEST(test_document)
{
    char *text, line[256];
    document_read(INSIGHTS, &text);
    for (size_t i = 0; i < insight_rule_count; i++) {
        const struct insight_rule *r = &insight_rules[i];
        snprintf(line, sizeof line, "### %s\n", r->id);
        char *from = strstr(text, line), *to = from ? strstr(from + 4, "\n### ") : NULL;
        if (!from)
            fail_msg("docs/insights.md has no %s", line);
        if (to)
            *to = '\0';
        has_row(from, "fires", r->fires);
        has_row(from, "severity", r->severity);
        has_row(from, "gives back at most", r->gives_back);
        has_row(from, "next", r->next);
        if (to)
            *to = '\n';
    }
    for (size_t i = 0; i < insight_limit_count; i++) {
        const struct insight_limit *l = &insight_limits[i];
        snprintf(line, sizeof line, "| `%s` | %lld %s | %s |", l->name, (long long)l->value,
                 l->unit, l->reason);
        document_has(INSIGHTS, text, line);
    }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_document)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
