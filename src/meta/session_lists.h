/* session_lists.h - keeps the labels and GPUs of a session, as a caller passes them. */
#ifndef GPUFL_META_SESSION_LISTS_H
#define GPUFL_META_SESSION_LISTS_H

struct meta_pair {
    const char *key, *value; /* a label */
};

struct meta_pairs {
    const struct meta_pair *at;
    unsigned count;
};

struct meta_session_gpu {
    const char *uuid, *name, *vendor; /* name: of the product. NULL, "": not known */
};

struct meta_session_gpus {
    const struct meta_session_gpu *at;
    unsigned count;
};

#endif
