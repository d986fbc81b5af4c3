/* report.h - has gpufl_generate_report: the one call that prints. [any] */
#ifndef GPUFL_CAPTURE_REPORT_H
#define GPUFL_CAPTURE_REPORT_H

/* Writes a report. dir: a session's. output_path: NULL or "" for stdout. */
int report_write(const char *dir, const char *output_path);

#endif
