/* peer_ours.h - makes a small session of ours in an encoder to the public client's lines, for
 * tests. */
#ifndef TESTS_UNIT_PEER_OURS_H
#define TESTS_UNIT_PEER_OURS_H

#include "tests/unit/support/peer_put.h"

enum {
    NAME_GPU = 1,
    NAME_UUID,
    NAME_VENDOR,
    NAME_ARCH,
    NAME_KERNEL,
    NAME_OUTER,
    NAME_INNER,
    NAME_WARPS,
    NAME_KERNELS,
    NAME_COLLECTED,
    NAME_FAILED,
    NAME_WHY
};

/* The clock of this header has epoch = monotonic + 1000. */
extern const struct wire_header peer_ours_header;

/* This is a demangler that knows one name. */
const char *peer_ours_show(void *arg, const char *text);

struct peer_encoder *peer_ours(void); /* header, names, one device, two streams, one config */
struct peer_encoder *peer_ours_running(void); /* job_start is written already */
void peer_ours_drain(struct peer_encoder *e);
const char *peer_ours_lines(struct peer_encoder *e, enum peer_channel c);

#define EXPECT(e, channel, text) assert_string_equal(peer_ours_lines(e, channel), text)
#define SESSION                  "\"session_id\":\"s1\""

#endif
