/* vendor_words.h - has a GPU vendor's words for what all GPUs have, for the tables and sentences of
 * the text report. Each vendor has a constant (struct vendor, words); analyze/common/words.h finds
 * the words of a device. A field of this struct is set by every vendor that has words. Called by
 * any thread. */
#ifndef GPUFL_BACKEND_VENDOR_WORDS_H
#define GPUFL_BACKEND_VENDOR_WORDS_H

#include <stdbool.h>

/* These are parts of texts that vendors share. */
#define WORDS_EMPTY_CACHE                                                                          \
    "Take empty_cache() out of the loop: PyTorch keeps freed memory and uses it again."

#define WORDS_PINNED_BACK(calls)                                                                   \
    "Copy to pinned memory, with a call that does not block. Wait before the data is read. " calls \
    "; PyTorch: a tensor with pin_memory=True, and copy_(..., non_blocking=True)."

/* Holds what to do about a finding of one rule, in the vendor's words. */
struct words_step {
    const char *rule, *next;
};

struct words {
    const char *arch;         /* names of its architectures begin with this */
    bool shader_clock;        /* the graphics clock is the shader clock */
    bool tf32;                /* tensor cores take factors of float32 as TF32, from compute
                                 capability 8.0 on */
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
    /* Name what holds clocks down: more limits of the hardware, heat, heat of one part. */
    const char *throttle_slow, *throttle_heat, *throttle_hot;
    const char *load_next;          /* what to do where code is loaded in the middle of the run */
    const struct words_step *steps; /* ends with a rule of NULL; NULL: none */
};

#endif
