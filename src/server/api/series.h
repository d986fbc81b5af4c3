/* series.h - sends series of samples, also those that other sessions took.
 *
 * Sessions of one folder share the samples of the host and of GPUs (record sampler). A question
 * about a session is answered with its own samples and those that other sessions of the workspace
 * took for it, within the spans that its log states; metrics of the process come only from the
 * session itself. A share link to one session shows all these samples, too. [worker] */
#ifndef GPUFL_SERVER_API_SERIES_H
#define GPUFL_SERVER_API_SERIES_H

#include "server/request/session_ref.h"

bool series_is(enum store_query q);

/* Asks whether samples are shared. *shared: another session took samples for this one, so an
 * answer may change after this session's end. */
int series_shared(struct call *c, const struct session_ref *s, bool *shared, struct err *e);

/* Answers question q, a series, for a session that has columns, like store_ops.query. */
int series_ask(struct call *c, const struct session_ref *s, enum store_query q,
               const struct store_value *args, const struct store_visitor *v, struct err *e);

#endif
