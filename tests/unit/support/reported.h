/* reported.h - for tests: reports as text and JSON, of recorded sessions and of synthetic ones. */
#ifndef GPUFL_TESTS_REPORTED_H
#define GPUFL_TESTS_REPORTED_H

#include "analyze/report/report.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { REPORT_ERROR = 512 };

/* The default options with a format. */
struct gpufl_report_options report_options(enum gpufl_report_format format);

/* Runs a report; its text, to be freed, its error ("": none) and its code. */
char *report_run(const char *path, const struct gpufl_report_options *o, char error[REPORT_ERROR],
                 int *code);

/* The text of a report that must end with that code, and has an error where that is not 0. */
char *report_with(const char *path, const struct gpufl_report_options *o, int want);

/* The text of a report, to be freed, and *code; all rows in JSON. */
char *report_of(const char *path, enum gpufl_report_format format, int width, bool color,
                int *code);

/* The report of a path that has one. */
char *report_ok(const char *path, enum gpufl_report_format format, int width, bool color);

/* A path of tests/data, until the next call. */
const char *report_data(const char *name);

/* A report in JSON; frees the text. */
json_t *report_parse(char *text);

/* The integer at a path of keys, '/' between them; digits are places in an array. */
int64_t report_number(json_t *at, const char *path);

/* Writes a session with one device and that many kernels into the test's directory. */
void report_session(const char *id, bool simulated, bool ended, int64_t kernels);

#endif
