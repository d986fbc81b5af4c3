/* test_library_range.c - domains of libraries are known in either case; those of programs are
 * not. */
#include "tests/test.h"
#include "wire/library_range.h"

TEST(test_domains)
{
    static const char *const libraries[] = {"NCCL", "TSL", "cuDNN", "CUDNN", "libcudf", "CCCL"};
    static const char *const others[] = {"", "nvtx", "roctx", "train", "NCC", "NCCL2", "my NCCL"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        assert_true(library_range(libraries[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(library_range(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_domains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
