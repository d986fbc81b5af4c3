/* engines.h - chooses the backend and the engine of a session, and says in a sentence if
 * they are not what was asked for. [owner] */
#ifndef GPUFL_CAPTURE_SESSION_ENGINES_H
#define GPUFL_CAPTURE_SESSION_ENGINES_H

#include "backend/backend.h"
#include "capture/options/options.h"

struct writer;
struct intern;

/* Returns the backend of the option; None, with a sentence, if that backend is not available. */
const struct backend *engines_backend(const struct options *o);

/* Returns the engine that runs on this backend for the one asked for, with a sentence if they
 * differ. */
enum gpufl_engine engines_effective(const struct options *o, const struct backend *b);

/* Returns what an engine asks of a backend, as a sum of enum engine_bit. [any] */
unsigned engines_bits(enum gpufl_engine engine);

/* Returns pc_kernel_collect, or the value that replaces it in sessions with windows. [any] */
enum pc_collect engines_collect(const struct options *o, const struct backend *b,
                                enum gpufl_engine engine);

/* Returns true if kernels, copies and fills are to be recorded: all of them, or those in windows.
 * [any] */
bool engines_record_kernels(const struct options *o, const struct backend *b,
                            enum gpufl_engine engine);

/* Returns the reason why there are no windows: this engine of this backend cannot do what the
 * options ask for; NULL: it can. [any] */
const char *engines_windows_lack(const struct options *o, const struct backend *b,
                                 enum gpufl_engine engine);

/* Returns true if nothing of this engine stays on between windows. [any] */
bool engines_detach(const struct backend *b, enum gpufl_engine engine);

/* Attaches the engine. NULL if nothing is to be traced, or, with a sentence, if nothing can be. */
struct trace *engines_attach(const struct options *o, const struct backend *b,
                             enum gpufl_engine engine, bool injected);

/* Opens the engine's trace with these options, without a message. 0, or why not. [owner], or the
 * collector while it holds the trace. */
int engines_open(const struct options *o, const struct backend *b, enum gpufl_engine engine,
                 bool injected, struct trace **out, struct err *e);

/* Says what is missing if the program has used the GPU before the session. injected: the session
 * begins inside the driver's initialization, or before. */
void engines_say_late(const struct backend *b, enum gpufl_engine engine, bool injected);

/* Starts what is attached. False, with a sentence, if it does not start. */
bool engines_start(const struct options *o, const struct backend *b, struct trace *t);

/* Writes the debug line that says which engine runs for the one asked for. */
void engines_debug(const struct options *o, enum gpufl_engine engine);

/* Writes which engine was asked for, which one runs and why they differ, as settings of the engine
 * asked for: once at the start and once at the end, when that is known; the last one counts. t:
 * NULL if nothing is traced. [collector] */
void engines_describe(const struct options *o, const struct backend *b, enum gpufl_engine engine,
                      struct trace *t, struct writer *w, struct intern *names);

#endif
