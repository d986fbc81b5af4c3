/* folders.h - knows the folders to which relative file names are relative.
 *
 * Python names a script by the name that was given to its compiler: `runpy`, `exec` and debuggers
 * may give "train.py". The folder of that file can be known only while the program runs: it is the
 * working folder at the session's begin, or at the program's start (PWD), because the program may
 * have changed folders before it used a GPU. The file must be found in only one of these folders:
 * if both have a file of that name and the files differ, the name stays as it is. */
#ifndef GPUFL_CAPTURE_STACKS_FOLDERS_H
#define GPUFL_CAPTURE_STACKS_FOLDERS_H

#include <limits.h>

/* Notes the present folders. [owner] */
void folders_begin(void);

/* Returns the absolute name of a relative one, in `room`; the name itself if it is absolute, names
 * no file ("<string>"), or cannot be found. [collector] */
const char *folders_find(const char *file, char room[PATH_MAX]);

#endif
