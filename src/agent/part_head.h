/* part_head.h - reads the start of a part: its session, and its place in the channel.
 *
 * Every part of our logs begins with its header. Only some of the public client's windows name
 * their writer; each window counts as a whole. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_PART_HEAD_H
#define GPUFL_AGENT_PART_HEAD_H

#include "base/file/file.h"

#include <stdbool.h>
#include <stdint.h>

enum { PART_ID_MAX = 64, PART_CHANNEL_MAX = 24, PART_TEXT_MAX = 256 };

struct part_head {
    bool ours;                      /* begins with a header of our format */
    char session[PART_ID_MAX];      /* "": not said */
    char channel[PART_CHANNEL_MAX]; /* ours; "" otherwise */
    char run[PART_ID_MAX];          /* of the command that started the program; "": none */
    int64_t pass, passes;           /* of `gpufl trace --passes`; 0: the command ran once */
    char app[PART_TEXT_MAX], host[PART_TEXT_MAX];
    int64_t part;        /* its number; 0: not said */
    int64_t offset;      /* ours: plain bytes of the channel before this part */
    int64_t pid;         /* 0: not said */
    int64_t start;       /* ours: of the session, CLOCK_MONOTONIC ns */
    struct file_id file; /* the file that was read: a part that ends gets another name */
};

/* Reads the part's head; of a file without a head, *h is empty. An error means that the file cannot
 * be read. */
int part_head_read(const char *path, struct part_head *h, struct err *e);

/* Reads the channel in a file's name ("device" of "app.device.2.log.gz"), and the part's number, 0
 * where it has none. False: it is no name of a part. */
bool part_name_read(const char *path, char channel[PART_CHANNEL_MAX], int64_t *number);

#endif
