/* lost.h - finds the processes of a run that ended before any of their records was written; when
 * other processes have sessions, nothing else would show that these are missing.
 *
 * Their marks (marks.h) show them: the driver called the library in them, and neither a record nor
 * a reason came. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_LOST_H
#define GPUFL_CLI_TRACE_OUTCOME_LOST_H

#include "cli/trace/outcome/finish.h"
#include "cli/trace/outcome/session.h"

#include <stdio.h>

/* Returns the number of such processes, without the program itself. */
size_t lost_others(const struct finish *f, const struct sessions *s);

/* Returns the number of folders with empty files that this run's processes left. */
size_t lost_folders(const struct finish *f, const struct sessions *s);

/* Prints a sentence for each way in which such processes ended, and one for folders whose process
 * is unknown. */
void lost_say(const struct finish *f, const struct sessions *s, FILE *out);

/* Removes the folders of empty files whose process is known to be over. */
void lost_drop(const struct finish *f, const struct sessions *s);

#endif
