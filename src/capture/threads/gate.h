/* gate.h - the one word that every entry of the library looks at first.
 *
 * Off, the public functions cost a load and a branch. It is written by the owner
 * (session.c, copies.c, fork.c; release), for the end also by collector.c and
 * closing.c, and read by everyone (acquire). A thread that passes the gate late
 * finds its own memory and ring, which outlive every session, and the collector
 * knows from a slot's number which session the slot belongs to. */
#ifndef GPUFL_CAPTURE_THREADS_GATE_H
#define GPUFL_CAPTURE_THREADS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum gate {
    GATE_OFF,     /* no session */
    GATE_ENDING,  /* it is being ended: no new scopes; their ends and launches are still taken */
    GATE_ON,      /* a session runs */
    GATE_FORWARD, /* another copy of the library holds this process's session */
};

struct capture_gate {
    _Atomic uint32_t gate;    /* enum gate */
    _Atomic uint32_t session; /* counts sessions of this process, from 1 */
    _Atomic bool floor;       /* benchmark: launches are only counted */
    _Atomic bool scoped;      /* a scope has been opened in this session */
    _Atomic bool ranged;      /* the backend receives outermost scopes; release, acquire */
    _Atomic uint32_t looks;   /* counts the times in which threads are looked at, from 1; relaxed */
};

/* Hidden, so that reading it takes one load relative to the code. */
extern struct capture_gate capture_gate __attribute__((visibility("hidden")));

/* True where a session records what the program's threads do. */
static inline bool gate_is_on(void)
{
    uint32_t gate = atomic_load_explicit(&capture_gate.gate, memory_order_acquire);
    return gate - GATE_ENDING <= GATE_ON - GATE_ENDING;
}

static inline uint32_t gate_session(void)
{
    return atomic_load_explicit(&capture_gate.session, memory_order_relaxed);
}

#endif
