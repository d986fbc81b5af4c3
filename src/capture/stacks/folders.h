/* folders.h - what relative names of files are relative to.
 *
 * Python names a script by the name that was given to its compiler: `runpy`, `exec` and debuggers
 * may give "train.py". The folder of that file is known while the program runs, if at all: the
 * working folder as the session began, or as the program was started (PWD), since the program may
 * have changed folders before it touched a GPU. The file has to exist in one of these folders only:
 * where two files differ, the name stays as it is. */
#ifndef GPUFL_CAPTURE_STACKS_FOLDERS_H
#define GPUFL_CAPTURE_STACKS_FOLDERS_H

#include <limits.h>

/* Notes the folders of now. [owner] */
void folders_begin(void);

/* The file's absolute name, in `room` where it was relative; itself where it is absolute, no file
 * at all ("<string>") or not to be found. [collector] */
const char *folders_find(const char *file, char room[PATH_MAX]);

#endif
