/* s3_key.h - finds the credentials for S3: from a file in the format of AWS's tools, or the
 * environment. */
#ifndef GPUFL_AGENT_ARCHIVE_S3_KEY_H
#define GPUFL_AGENT_ARCHIVE_S3_KEY_H

#include "base/err.h"

enum { S3_SECRET_MAX = 2048 };

/* Holds secrets: call s3_key_wipe after use. */
struct s3_key {
    char id[128], secret[256];
    char token[S3_SECRET_MAX]; /* of a session; "": none */
};

/* Finds the key. file: NULL or "": the environment. option: name of the option for the file, for
 * the sentence; NULL: there is none. GPUFL_E_INVAL with a sentence that shows no secret. */
int s3_key_find(struct s3_key *k, const char *file, const char *option, struct err *e);
void s3_key_wipe(struct s3_key *k);

#endif
