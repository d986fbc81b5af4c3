/* test.h - what every test of cmocka includes, and the form of a test. */
#ifndef GPUFL_TESTS_TEST_H
#define GPUFL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test that needs nothing from a setup function; lists name it as cmocka_unit_test(name). */
#define TEST(name) static void name(void **state __attribute__((unused)))

/* How long a test waits at the most for what must come, ns; it goes on as soon as that is there. */
#define PATIENCE_NS INT64_C(120000000000)

#endif
