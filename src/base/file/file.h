/* file.h - handles files and directories, with sentences for what goes wrong.
 *
 * Descriptors are close-on-exec. Writing is write(2) until all is written. Called by any thread. */
#ifndef GPUFL_BASE_FILE_H
#define GPUFL_BASE_FILE_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Joins dir and name with one slash; GPUFL_E_FULL when the path does not fit. */
int path_join(char *out, size_t size, const char *dir, const char *name);
const char *path_base(const char *path); /* last component, inside path */

int file_mkdirs(const char *dir, mode_t mode, struct err *e); /* like mkdir -p */
/* Makes a folder in dir and removes it. 0, or a negative errno. access(2) does not suffice: for
 * root it succeeds if no folder can be made, in /proc or on a full disk. */
int file_try_dir(const char *dir);
int file_open_append(const char *path, mode_t mode, int *fd, struct err *e);
int file_write_all(int fd, const void *data, size_t n); /* 0 or negative errno */

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends the process. The shield blocks the signal
 * for this thread; file_shield_down, called with the write's result, consumes the signal that came
 * with -EFBIG. */
struct file_shield {
    sigset_t size_signal, before;
};

void file_shield_up(struct file_shield *s);
void file_shield_down(struct file_shield *s, int rc);
int file_write_shielded(int fd, const void *data, size_t n); /* file_write_all, shielded */

int file_read_all(const char *path, size_t max, char **data, size_t *len,
                  struct err *e); /* caller frees; ends in NUL; never waits for a pipe's writer */
bool file_read_at(int fd, uint64_t at, void *to, size_t n); /* all n bytes, or false */
int64_t file_size(const char *path);                        /* bytes, or -1 */
bool file_exists(const char *path);
void file_remove_tree(const char *path); /* a folder with all below it, as far as that goes */

/* Removes the entries of a folder whose names have this prefix and suffix: files that a killed
 * process left. */
void file_remove_named(const char *dir, const char *prefix, const char *suffix);
bool file_is_regular(const char *path);   /* opening any other file may block for ever */
int64_t file_free_bytes(const char *dir); /* for an unprivileged user; -1: unknown */

/* Holds the identity of the file that a descriptor was opened on. The traced program may close our
 * descriptors, and then gets their numbers for its own files. */
struct file_id {
    uint64_t device, inode; /* zeros: none */
    int64_t birth;          /* ns since the Unix epoch; 0: not asked for, or not known */
};

struct file_id file_id(int fd);
/* Returns the identity with the time of birth, because a new file may get the inode of a removed
 * one. Only our own programs call this function: the sandbox of a traced program may kill a process
 * that calls statx. */
struct file_id file_id_born(int fd);
bool file_is(int fd, struct file_id id); /* true: fd still refers to that file */

/* Compresses src with gzip (level 1 to 9) into dst.part, which becomes dst when it is complete. src
 * stays. */
int file_gzip(const char *src, const char *dst, int level, struct err *e);

/* Does what file_gzip does, with names relative to the directory of a descriptor (AT_FDCWD: the
 * current one). Once *stop is true the call gives up within a few milliseconds: GPUFL_E_STATE, and
 * no file is left. stop may be NULL; it is read relaxed. */
int file_gzip_at(int at, const char *src, const char *dst, int level, const _Atomic bool *stop,
                 struct err *e);

/* Returns true if the name is that of a packed part (.gz, .zst), to which nothing is written any
 * more. [any] */
bool file_is_named_packed(const char *path);

#endif
