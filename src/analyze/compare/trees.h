/* trees.h - has two trees of time merged into one: what each frame takes on side a and on side b.
 *
 * Flame graphs of differences are drawn from these trees. Their sources are stacks of waits and of
 * the GPU's time (collapsed text, as `gpufl report --flame` writes it), scopes (of digests), and
 * idle time by cause and line (of the JSON report). Frames with the same name and the same callers
 * are merged.
 *
 * A tree has at most TREES_NODES nodes and TREES_TEXT bytes of names. Time of further frames stays
 * with the frame above and is counted in `cut`. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMPARE_TREES_H
#define GPUFL_ANALYZE_COMPARE_TREES_H

#include "analyze/common/json_out.h"
#include "analyze/compare/compare.h"
#include "base/keyed.h"

struct intern;

enum {
    TREES_NODES = 100000, /* with the root */
    TREES_TEXT = 32 << 20,
    TREES_DEPTH = 512,   /* frames of a stack; those below are left out */
    TREES_SHOWN = 10000, /* nodes of an answer */
};

struct trees_node {
    uint32_t parent, name;     /* the key; parent 0 and name 0: the root */
    int64_t ns[COMPARE_SIDES]; /* of the frame and all below it; all sessions of a side summed */
};

struct trees {
    struct keyed nodes;   /* of struct trees_node; the root has index 1 */
    struct intern *names; /* owned */
    int64_t cut;          /* ns */
};

/* Returns 0 or GPUFL_E_NOMEM; close in each case. */
int trees_open(struct trees *t);
void trees_close(struct trees *t);

/* Describes a frame of a stack that is added. */
struct trees_frame {
    const char *text;
    size_t len;
};

/* Adds time of a stack, outermost frame first. 0 or GPUFL_E_NOMEM. */
int trees_add(struct trees *t, unsigned side, const struct trees_frame *frames, size_t n,
              int64_t ns);

/* Adds the stacks of collapsed text whose first frame is `root`, which is left out. A line of
 * another form is skipped. 0 or GPUFL_E_NOMEM. */
int trees_add_collapsed(struct trees *t, unsigned side, const char *root, const char *text,
                        size_t len);

/* Adds each scope's own time, without that of the scopes inside it. 0 or GPUFL_E_NOMEM. */
int trees_add_scopes(struct trees *t, unsigned side, const struct digest *d);

/* Adds the idle time of a JSON report by cause and line. 0, GPUFL_E_NOMEM, or GPUFL_E_CORRUPT if
 * the text is not a report. */
int trees_add_idle(struct trees *t, unsigned side, const char *report, size_t len);

/* Puts the members a_ns, b_ns, cut_ns and nodes. counts: sessions of each side; times are divided
 * by them. Nodes that are less than 1/2000 of the greater side are left out. */
void trees_put(const struct trees *t, const size_t counts[COMPARE_SIDES], struct json_out *j);

#endif
