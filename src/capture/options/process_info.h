/* process_info.h - who is being captured: the texts of a session's header. [owner] */
#ifndef GPUFL_CAPTURE_OPTIONS_PROCESS_INFO_H
#define GPUFL_CAPTURE_OPTIONS_PROCESS_INFO_H

#include <stdbool.h>

struct about {
    char host[256];
    char system[256];   /* "Linux 6.1.0 x86_64" */
    char command[1025]; /* arguments, a blank between them, cut */
    char program[64];   /* name of the program: of the script where an interpreter runs one */
    char session[37];   /* a new random UUID, lower case */
};

/* 0, or GPUFL_E_IO where there is no randomness. */
int about_read(struct about *a);

/* From here on it is this process that is captured, with that command: for one that samples in another's name. */
void about_stand_for(int pid, const char *command);

/* True where it does. [any] */
bool about_stands_in(void);

/* The captured process. */
int about_pid(void);

/* Name of the program alone. */
void about_program(char *out, unsigned long size);

#endif
