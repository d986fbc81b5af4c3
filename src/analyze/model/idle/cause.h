/* cause.h - why a GPU was idle, and why some of that time has no known line. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_CAUSE_H
#define GPUFL_ANALYZE_MODEL_IDLE_CAUSE_H

#include <stdint.h>

enum idle_cause {
    IDLE_SYNC,     /* the host waited for the GPU */
    IDLE_COPY,     /* … in a copy or fill that returns when done */
    IDLE_MEMORY,   /* … in an allocation or a free */
    IDLE_CODE,     /* … in a load of code */
    IDLE_QUEUED,   /* work had been launched, but waited for an event, a stream or a device */
    IDLE_BETWEEN,  /* between kernels back to back */
    IDLE_SLOW,     /* the host launched more slowly than the GPU ran */
    IDLE_LATE,     /* the host did something else before it launched */
    IDLE_NOTHING,  /* nothing was submitted for long */
    IDLE_BEFORE,   /* before the first work */
    IDLE_AFTER,    /* after the last work */
    IDLE_ENGINE,   /* an engine of the profiler kept the host, whatever the host did */
    IDLE_OTHER,    /* work had been launched, and another process used the GPU */
    IDLE_START_UP, /* before the steady part (steps/steps.h), whatever the cause was */
    IDLE_CAUSES,
};

/* The thread of a sum of idle time is its id or its name; 0: unknown. This value says that the sum
 * has several threads. */
#define IDLE_SEVERAL_THREADS UINT32_MAX

/* Adds a thread to those of a sum. */
static inline void idle_thread_put(uint32_t *to, uint32_t thread)
{
    *to = !*to || *to == thread ? thread : thread ? IDLE_SEVERAL_THREADS : *to;
}

/* Describes the gap with the longest part of a sum of idle time. */
struct idle_longest {
    int64_t start, end; /* ns: of the whole gap; equal: there is none */
    int64_t part;       /* ns: the gap's part in the sum */
};

/* Keeps the longer one. shift: ns that are added to the times of `one`. */
static inline void idle_longest_put(struct idle_longest *to, const struct idle_longest *one,
                                    int64_t shift)
{
    if (one->part > to->part)
        *to = (struct idle_longest){one->start + shift, one->end + shift, one->part};
}

/* Says why a part of the idle time has no line. */
enum idle_reason {
    IDLE_KNOWN,       /* the part has a line */
    IDLE_FEW,         /* the host's own time, with too few looks at the thread or none */
    IDLE_SEVERAL,     /* the thread runs no Python, and several Python threads waited for it */
    IDLE_NO_STACK,    /* the call has no stack */
    IDLE_NO_PYTHON,   /* the thread ran no Python: it is a library's, or the interpreter ends */
    IDLE_LOST,        /* looks that failed, and parts without room */
    IDLE_SHARED,      /* other processes used the GPU, and when the work was launched is unknown */
    IDLE_OF_GPU,      /* no line: the GPU itself needs that long between two kernels */
    IDLE_OF_PROFILER, /* no line: the profiler took the time */
    IDLE_OF_OTHERS,   /* no line of this program: other processes took the time */
    IDLE_PROBABLY_OTHERS, /* like IDLE_OF_OTHERS, but inferred from what ran after the gap */
    IDLE_REASONS,
};

/* Lists flags of a line with a part of the idle time. */
enum idle_flag {
    IDLE_ENDED_BY = 1,  /* the line's launch ended the time, and need not have caused it */
    IDLE_INHERITED = 2, /* from looks at the thread that ran Python while another one launched */
};

/* Puts a state (enum idle_state) and the number of a system call + 1 (0: none) in one number. */
#define IDLE_DOING(state, syscall) ((uint32_t)(state) | (uint32_t)(syscall) << 4)
#define IDLE_DOING_STATE(doing)    ((doing)&15)
#define IDLE_DOING_SYSCALL(doing)  ((doing) >> 4)

#endif
