/* units.h - writes numbers for people: three digits and a sensible unit, never NaN.
 *
 * Each function writes into the caller's text and returns it. [any] */
#ifndef GPUFL_ANALYZE_COMMON_UNITS_H
#define GPUFL_ANALYZE_COMMON_UNITS_H

#include <stdint.h>

enum { UNITS_TEXT = 40 };

char *units_count(char text[UNITS_TEXT], int64_t n);    /* 10,000,000 */
char *units_samples(char text[UNITS_TEXT], uint64_t n); /* 1 sample, 26 samples */
char *units_time(char text[UNITS_TEXT], int64_t ns);    /* 412 ns, 3.41 us, 2 min 05 s */
/* Writes a range from one time to a longer one: 12.1 to 15.0 ms, 900 us to 1.20 ms. */
char *units_time_range(char text[UNITS_TEXT], int64_t least, int64_t most);
char *units_time_short(char text[UNITS_TEXT], int64_t ns); /* 73.58s, 12.34ms: in titles */
char *units_bytes(char text[UNITS_TEXT], int64_t bytes);   /* 1.50 GiB */
char *units_percent(char text[UNITS_TEXT], double part, double whole); /* 41.2 %; "-" of nothing */
char *units_percent_short(char text[UNITS_TEXT], double part, double whole); /* 95.0%; "-" */
char *units_rate(char text[UNITS_TEXT], int64_t bytes, int64_t ns);          /* 24.1 GB/s; "-" */
char *units_energy(char text[UNITS_TEXT], double joules);                    /* 812 J, 1.20 kJ */
char *units_epoch(char text[UNITS_TEXT], int64_t epoch_ns); /* 2026-11-20 14:02:03 UTC */

#endif
