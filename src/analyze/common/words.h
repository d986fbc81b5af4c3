/* words.h - each GPU vendor's words for the same things, for the tables of the text report.
 *
 * The texts of insights have words of their own where a sentence differs by more than these.
 * Constants. */
#ifndef GPUFL_ANALYZE_COMMON_WORDS_H
#define GPUFL_ANALYZE_COMMON_WORDS_H

#include <stdbool.h>

enum words_vendor { WORDS_NVIDIA, WORDS_AMD, WORDS_BOTH };

struct words {
    enum words_vendor vendor;
    bool ptx;                 /* code carries the text that it was made from */
    const char *listing;      /* title of a column of lines and instructions */
    const char *thread;       /* what runs a kernel's code once */
    const char *threads;      /* several, as a title, too */
    const char *warps, *warp; /* threads that run together */
    const char *sms, *an_sm;  /* the parts of a GPU that run them; one, in a sentence */
    const char *blocks;       /* threads that share memory; a title, too */
    const char *block;        /* one of them; a title, too */
    const char *waves;        /* blocks, in what all parts hold at once; a title */
    const char *shared;       /* that memory, as a title */
    const char *shared_short; /* that memory, in a narrow table */
    const char *local_short;  /* memory of one thread, in a narrow table */
    const char *graphs;       /* launches that were recorded as one; a heading */
    const char *graph;        /* one of them */
    const char *local;        /* memory of one thread that is no register; begins a sentence */
    const char *clock;        /* of the parts that compute */
    const char *clock_short;  /* that clock, before the word "clock" */
    const char *link;         /* between GPUs */
    const char *empty_cache;  /* what to do about PyTorch's cache that is emptied in a loop */
    const char *api;          /* what functions of its runtime begin with */
    const char *alone;        /* what to do against other processes on the GPU */
    const char *pinned_back;  /* what to do about copies to host memory that is not pinned */
    const char *context;      /* all streams of a GPU, where one call waits for them */
    const char *wait_all;     /* the function that does so, after its prefix */
    const char *waits_all;    /* calls of it */
    /* What holds clocks down: more limits of the hardware, heat, heat of one part. */
    const char *throttle_slow, *throttle_heat, *throttle_hot;
    const char *load_next; /* what to do where code is loaded in the middle of the run */
};

/* What to do about a finding of this rule, in the vendor's words; NULL: the rule's own text is for
 * all vendors. */
const char *words_next(const struct words *w, const char *rule);

/* The words for GPUs of an architecture ("sm_90", "gfx942"); NVIDIA's where it is unknown. */
const struct words *words_of(const char *arch);

/* The words for a GPU by its vendor (nvidia, amd), else by its architecture; NULL: neither is
 * known ("", or a simulated GPU without one). */
const struct words *words_of_device(const char *vendor, const char *arch);

/* The words for a text about GPUs of both a and b. a may be NULL: then b. */
const struct words *words_join(const struct words *a, const struct words *b);

#endif
