/* process_info.h - which process is captured: the texts of a session's header. [owner] */
#ifndef GPUFL_CAPTURE_OPTIONS_PROCESS_INFO_H
#define GPUFL_CAPTURE_OPTIONS_PROCESS_INFO_H

#include <stdbool.h>

struct process_info {
    char host[256];
    char system[256];   /* "Linux 6.1.0 x86_64" */
    char command[1025]; /* arguments, a blank between them, cut */
    char program[64];   /* name of the program: of the script where an interpreter runs one */
    char session[37];   /* a new random UUID, lower case */
};

/* Returns 0, or GPUFL_E_IO if the system gives no random bytes. */
int process_info_read(struct process_info *a);

/* From here on sessions name process pid and its command instead of this process: `gpufl trace`
 * samples the devices on behalf of the program that it runs. */
void process_info_act_for(int pid, const char *command);

/* Returns true after process_info_act_for. [any] */
bool process_info_acts_for_other(void);

/* Returns the id of the captured process. */
int process_info_pid(void);

/* Returns the rank that a launcher gave this process in its job, as digits, as process_info_read
 * found it; "": no launcher did. */
const char *process_info_rank(void);

/* Reads only the name of the program. */
void process_info_program(char *out, unsigned long size);

#endif
