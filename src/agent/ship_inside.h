/* ship_inside.h - the part that the two ways of sending a session share: trying again, counting,
 * sentences. */
#ifndef GPUFL_AGENT_SHIP_INSIDE_H
#define GPUFL_AGENT_SHIP_INSIDE_H

#include "agent/part_stream.h"
#include "agent/ship.h"

/* A session under way. */
struct shipping {
    const struct ship_config *config;
    const struct ship_session *session;
    struct ship_result *result;
    struct backoff backoff;
    int64_t silent; /* CLOCK_MONOTONIC ns since which no request was answered and nothing moved */
    int64_t waited; /* CLOCK_MONOTONIC ns since which the server says "not now"; 0: it does not */
    int64_t done;   /* bytes on disk before the part at hand */
    int64_t shown;  /* progress that was shown last */
    struct part_stream *stream; /* of the body at hand */
};

/* The next step after a request. */
enum ship_step {
    SHIP_STEP_ANSWER, /* there is an answer that is no matter of trying again */
    SHIP_STEP_AGAIN,  /* waited: try once more */
    SHIP_STEP_END,    /* it is over: the result says how */
};

/* shipping_over ends what shipping_init began. */
void shipping_over(struct shipping *s);
void shipping_init(struct shipping *s, const struct ship_config *c,
                   const struct ship_session *session, struct ship_result *out);

/* Judges a request: code and *e of the call, *a of the server. Waits where it may be tried
 * again. What ends everything (stopped, no key, no such server) becomes the result. */
enum ship_step shipping_judge(struct shipping *s, int rc, const struct err *e,
                              const struct remote_answer *a);

/* Sends b with the stream as its body: as remote_send. Counts, and reports lines left out. */
int shipping_send(struct shipping *s, const struct ship_part *p, struct remote_body *b,
                  struct remote_answer *a, struct err *e);

/* Called after progress: failures and waits count anew. */
void shipping_got_on(struct shipping *s);

/* Bytes on disk that are dealt with. */
void shipping_progress(struct shipping *s, int64_t done);

/* Ends it with a sentence, unless there is one already. */
void shipping_end(struct shipping *s, enum ship_end end, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "the server answers 400: detail" into the result. */
void shipping_refused(struct shipping *s, const struct ship_part *p, const struct remote_answer *a);

/* ship_windows.c: the public client's sessions. */
void ship_windows(struct shipping *s);

#endif
