/* ship_inside.h - has functions that both ways of sending a session share: repeating, counting,
 * sentences. */
#ifndef GPUFL_AGENT_SHIP_INSIDE_H
#define GPUFL_AGENT_SHIP_INSIDE_H

#include "agent/part_stream.h"
#include "agent/ship.h"

/* Describes a session that is being sent. */
struct shipping {
    const struct ship_config *config;
    const struct ship_session *session;
    struct ship_result *result;
    struct backoff backoff;
    int64_t silent; /* CLOCK_MONOTONIC ns since which there was no answer and no byte */
    /* CLOCK_MONOTONIC ns since which the server answers "not now"; 0: it does not. */
    int64_t waited;
    int64_t done;               /* bytes on disk before the part at hand */
    int64_t shown;              /* progress that was shown last */
    struct part_stream *stream; /* of the body at hand */
};

/* Names the next step after a request. */
enum ship_step {
    SHIP_STEP_ANSWER, /* there is an answer that does not ask for another try */
    SHIP_STEP_AGAIN,  /* waited: try once more */
    SHIP_STEP_END,    /* sending has ended: see the result */
};

/* Takes back the watch that shipping_init set. */
void shipping_over(struct shipping *s);
void shipping_init(struct shipping *s, const struct ship_config *c,
                   const struct ship_session *session, struct ship_result *out);

/* Decides after a request: rc and *e are the call's, *a is the server's. Waits where the request
 * may be repeated. A cause that ends everything (stopped, no key, no such server) becomes the
 * result. */
enum ship_step shipping_judge(struct shipping *s, int rc, const struct err *e,
                              const struct remote_answer *a);

/* Sends b with the stream as its body, like remote_send. Counts, and reports lines left out. */
int shipping_send(struct shipping *s, const struct ship_part *p, struct remote_body *b,
                  struct remote_answer *a, struct err *e);

/* Counts failures and waits from 0 again, after progress. */
void shipping_got_on(struct shipping *s);

/* Reports the bytes on disk that are handled. */
void shipping_progress(struct shipping *s, int64_t done);

/* Sets the result and its sentence, unless there is one already. */
void shipping_end(struct shipping *s, enum ship_end end, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the result to "the server answers 400: detail". */
void shipping_refused(struct shipping *s, const struct ship_part *p, const struct remote_answer *a);

/* Sends the public client's sessions (ship_windows.c). */
void ship_windows(struct shipping *s);

#endif
