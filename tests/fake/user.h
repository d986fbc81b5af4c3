/* user.h - a program's own use of CUPTI: kernel records from user_begin to user_end. Called by one
 * thread only. */
#ifndef GPUFL_TESTS_FAKE_USER_H
#define GPUFL_TESTS_FAKE_USER_H

#include <stdbool.h>

struct user_result {
    int kernels; /* records */
    int in_time; /* of these, with times between begin and end by CUPTI's clock */
    int foreign; /* buffers that CUPTI delivered, but had not got */
};

/* Subscribes, registers buffers and enables kernel records. CUPTI's result. */
__attribute__((visibility("default"))) int user_begin(void);
/* Takes the records, and ends the use of CUPTI. */
__attribute__((visibility("default"))) void user_end(struct user_result *out);

#endif
