/* reported.h - makes, for tests, reports as text and JSON, of recorded sessions and of synthetic
 * ones. */
#ifndef GPUFL_TESTS_REPORTED_H
#define GPUFL_TESTS_REPORTED_H

#include "analyze/report/report.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { REPORT_ERROR = 512 };

/* Returns the default options with that format. */
struct gpufl_report_options report_options(enum gpufl_report_format format);

/* Runs a report; returns its text, to be freed. error: "" if there is none; *code: the result. */
char *report_run(const char *path, const struct gpufl_report_options *o, char error[REPORT_ERROR],
                 int *code);

/* Returns the text of a report that must have that result, and an error unless that is 0. */
char *report_with(const char *path, const struct gpufl_report_options *o, int want);

/* Returns the text of a report, to be freed, and *code; JSON has all rows. */
char *report_of(const char *path, enum gpufl_report_format format, int width, bool color,
                int *code);

/* Returns the report of a path that must have one. */
char *report_ok(const char *path, enum gpufl_report_format format, int width, bool color);

/* Returns the path of a file of tests/data; it is valid until the next call. */
const char *report_data(const char *name);

/* Parses a report in JSON, and frees the text. */
json_t *report_parse(char *text);

/* Returns the integer at a path of keys with '/' between them; digits are places in an array. */
int64_t report_number(json_t *at, const char *path);

/* Writes a session with one device and that many kernels into the test's directory. */
void report_session(const char *id, bool simulated, bool ended, int64_t kernels);

#endif
