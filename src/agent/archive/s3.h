/* s3.h - handles objects in S3-compatible storage: put, get, list, remove.
 *
 * Requests use http_client, in path style (ENDPOINT/BUCKET/KEY), and libcurl signs them (AWS
 * signature 4). Each call makes one request and does not repeat it. Bodies stream; memory does not
 * grow with them. The credentials are wiped by s3_close and are in no message. Called by one thread
 * at a time. */
#ifndef GPUFL_AGENT_ARCHIVE_S3_H
#define GPUFL_AGENT_ARCHIVE_S3_H

#include "net/client/http_client.h"

enum { S3_KEY_MAX = 1024, S3_NAME_MAX = 512, S3_BUCKET_MAX = 64 };

/* Holds the parts of "s3://BUCKET/PREFIX": the prefix has no slash at its ends, and may be "". */
struct s3_place {
    char bucket[S3_BUCKET_MAX];
    char prefix[S3_NAME_MAX];
};

/* Reads a place. GPUFL_E_INVAL with a sentence: names may have letters, digits, '.', '_' and '-'
 * only. */
int s3_place_read(const char *url, struct s3_place *out, struct err *e);

/* Holds the settings. NULL or "": the variables that AWS's own tools read, then a default; each
 * comment lists them. */
struct s3_config {
    const char *endpoint; /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; the region's at amazonaws.com */
    const char *region;   /* AWS_REGION, AWS_DEFAULT_REGION; us-east-1 */
    /* A file with aws_access_key_id = …, aws_secret_access_key = … and perhaps aws_session_token
     * = …, each on a line; else AWS_ACCESS_KEY_ID and so on. */
    const char *key_file;
    const char *ca_file; /* AWS_CA_BUNDLE; the system's */
    const char *agent;   /* for User-Agent */
    bool has_options;    /* messages name the options of gpufl-agent for key and authorities */
    bool insecure;
    int64_t timeout;                   /* ns without a byte; 0: 60 s */
    const volatile sig_atomic_t *stop; /* as http_client_config.stop */
};

struct s3;

/* Opens a place. GPUFL_E_INVAL: no credentials, or a malformed address. GPUFL_E_NOT_BUILT: libcurl
 * or libsodium is missing. */
int s3_open(struct s3 **out, const struct s3_config *c, const struct s3_place *place,
            struct err *e);
void s3_close(struct s3 *s);            /* NULL: none */
const char *s3_url(const struct s3 *s); /* of the endpoint, for messages */

struct s3_answer {
    int status;          /* of HTTP; 0: there was none */
    int64_t retry_after; /* s; -1: not given */
    char detail[256];    /* the storage's message of an error; "" */
};

/* Describes the body of an object. sha256: its sum in hex, which the storage checks when it
 * receives it. */
struct s3_body {
    int64_t (*read)(void *arg, char *out, size_t size); /* as http_client_call.read */
    void *arg;
    int64_t size;
    const char *sha256;
    const char *type; /* of its content */
};

/* All return 0 if there was an answer, whatever its status; else a code like http_client_send. Keys
 * are without the place's prefix. */
int s3_put(struct s3 *s, const char *key, const struct s3_body *b, struct s3_answer *a,
           struct err *e);
/* The body goes to write (http_client_call.write), or to *text. */
int s3_get(struct s3 *s, const char *key, int (*write)(void *arg, const char *data, size_t n),
           void *arg, struct s3_answer *a, struct err *e);
int s3_get_text(struct s3 *s, const char *key, struct buf *text, struct s3_answer *a,
                struct err *e);
int s3_remove(struct s3 *s, const char *key, struct s3_answer *a, struct err *e);

/* Describes one object of a listing. */
struct s3_entry {
    char key[S3_KEY_MAX]; /* after the prefix */
    char modified[32];    /* "2026-11-28T10:00:00.000Z" */
};

/* Lists all objects below the place's prefix, a thousand for each request. take returns 0, or a
 * code that ends the list. */
int s3_list(struct s3 *s, int (*take)(void *arg, const struct s3_entry *entry), void *arg,
            struct s3_answer *a, struct err *e);

/* Gives "ENDPOINT answers 403: SignatureDoesNotMatch: …" as the error: GPUFL_E_UNAVAILABLE if
 * another try makes sense, GPUFL_E_PERM for 401 and 403, GPUFL_E_NOENT for 404, else
 * GPUFL_E_INVAL. */
int s3_refusal(const struct s3 *s, const struct s3_answer *a, struct err *e);
/* Sets the error for an answer that is not of an S3 storage: GPUFL_E_PERM. s3_put and s3_list check
 * that by themselves. */
int s3_no_storage(const struct s3 *s, const struct s3_answer *a, struct err *e);

#endif
