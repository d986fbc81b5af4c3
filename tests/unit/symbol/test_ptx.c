/* test_ptx.c - functions are found in the PTX that ptxas of CUDA 13.0 puts into a cubin. */
#include "symbol/cubin/ptx.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

static const char text[] = "\n\n.version 9.0\n.target sm_90\n.address_size 64\n"
                           ".extern .func  (.param .b32 func_retval0) vprintf\n"
                           "(\n.param .b64 vprintf_param_0\n)\n;\n"
                           ".func  (.param .b32 func_retval0) _Z6helperf(\n"
                           ".param .b32 _Z6helperf_param_0\n)\n{\nret;\n\n}\n"
                           ".visible .entry _Z3mulILi3EEvPf(\n)\n.maxntid 128, 1, 1\n{\n"
                           "{ // callseq 0 }\ncall.uni (retval0), \n_Z6helperf, \n(\nparam0\n);\n"
                           "} // callseq 0\nmov.b64 {%r1, %r2}, %rd1;\nret;\n\n}\n"
                           ".entry _Z3mul\n(\n)\n{\nret;\n}\n"
                           ".visible .entry cut(\n)\n{\nret;\n";

static void finds(const char *name, const char *begin, const char *end)
{
    size_t at, len;
    assert_true(ptx_find(text, name, &at, &len));
    assert_memory_equal(text + at, begin, strlen(begin));
    assert_memory_equal(text + at + len - strlen(end), end, strlen(end));
}

TEST(test_find)
{
    size_t at, len;
    finds("_Z6helperf", ".func  (.param .b32 func_retval0) _Z6helperf(\n", "{\nret;\n\n}");
    finds("_Z3mulILi3EEvPf", ".visible .entry _Z3mulILi3EEvPf(", "%rd1;\nret;\n\n}");
    finds("_Z3mul", ".entry _Z3mul\n(", "{\nret;\n}");
    static const char *const none[] = {"vprintf", "cut", "_Z3mu", "callseq", "mov.b64", "", "x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(ptx_find(text, none[i], &at, &len));
    assert_false(ptx_find("", "f", &at, &len));
    assert_false(ptx_find(".entry f(\n)\n}\n{}\n", "f", &at, &len));
}

/* Wherever the text is cut, a function that is found lies inside of it. */
TEST(test_cut)
{
    for (size_t n = 0; n < sizeof text; n++) {
        char part[sizeof text];
        size_t at, len;
        memcpy(part, text, n);
        part[n] = '\0';
        if (ptx_find(part, "_Z3mulILi3EEvPf", &at, &len))
            assert_true(at + len <= n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
