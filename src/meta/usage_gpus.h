/* usage_gpus.h - what the GPUs of one application or host did day by day.
 *
 * The sums by day (meta_usage_days) have one name each; a question with two, such as the GPUs of an
 * application, is answered from the rows of sessions. The time that takes grows with the number of
 * sessions of these days. */
#ifndef GPUFL_META_USAGE_GPUS_H
#define GPUFL_META_USAGE_GPUS_H

#include "meta/meta.h"

/* Names an application, a host, or both; NULL: any. */
struct meta_usage_of {
    const char *app, *host;
};

/* Lists rows by GPU and day; days->by is META_BY_GPU, and days->name one GPU or NULL. INVAL:
 * another by, or neither an application nor a host. Rows of deleted sessions are included. */
int meta_usage_gpus(const struct meta_ask *ask, const struct meta_days *days,
                    const struct meta_usage_of *of, struct meta_page *page,
                    struct meta_usage_sum **rows, size_t *count);

#endif
