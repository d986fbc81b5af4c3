/* lost.h - the processes of a run that ended before any of their records was written: beside others
 * they would be missing in silence.
 *
 * Their marks (marks.h) show them: the driver called the library there, and neither a record nor a
 * reason came. One thread. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_LOST_H
#define GPUFL_CLI_TRACE_OUTCOME_LOST_H

#include "cli/trace/outcome/finish.h"
#include "cli/trace/outcome/session.h"

#include <stdio.h>

/* Processes other than the program itself of which nothing came. */
size_t lost_others(const struct finish *f, const struct sessions *s);

/* Folders of empty files that this run's processes left. */
size_t lost_folders(const struct finish *f, const struct sessions *s);

/* A sentence for each way in which such processes ended, and one for folders whose process is not
 * known. */
void lost_say(const struct finish *f, const struct sessions *s, FILE *out);

/* Removes the folders of empty files whose process is known to be over. */
void lost_drop(const struct finish *f, const struct sessions *s);

#endif
