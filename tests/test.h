/* test.h - what every test of cmocka includes, and the form of a test. */
#ifndef GPUFL_TESTS_TEST_H
#define GPUFL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Begins a test that needs nothing from a setup function; lists name it as
 * cmocka_unit_test(name). */
#define TEST(name) static void name(void **state __attribute__((unused)))

/* Limits how long a test waits at the most for what must come, ns; it goes on as soon as that is
 * there. */
#define PATIENCE_NS INT64_C(120000000000)

/* This build has a sanitizer. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Says how often something is done again: `all` times, `few` under ThreadSanitizer. What it looks
 * for is an order that is missing where two threads meet: it sees that at a few of their meetings,
 * and each takes 20 times as long there. */
#ifdef __SANITIZE_THREAD__
#define FEWER(all, few) (few)
#else
#define FEWER(all, few) (all)
#endif

#endif
