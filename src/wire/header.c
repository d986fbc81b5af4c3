/* header.c - has the table of header.h. */
#include "wire/header.h"

#include <string.h>

#define F(name, kind, doc)                                                                         \
    {                                                                                              \
#name, HEADER_##kind, offsetof(struct wire_header, name), doc                              \
    }

const struct header_field header_fields[HEADER_FIELD_COUNT] = {
    F(session, TEXT, "Id of the session: a lower-case UUID, the name of its directory"),
    F(channel, TEXT, "Channel of this file"),
    F(part, INT, "Position of this part in its channel, from 1"),
    F(offset, INT, "Plain bytes of the channel before this part"),
    F(app, TEXT, "Name of the program"),
    F(pid, INT, "Process id"),
    F(host, TEXT, "Host name"),
    F(run, TEXT,
      "Id of the `gpufl trace` run, which ties the sessions of its processes and passes; empty: "
      "none"),
    F(pass, INT, "Which of the passes of `gpufl trace --passes`, from 1; 0: the command ran once"),
    F(passes, INT, "How many passes; 0: the command ran once"),
    F(command, TEXT, "Command line, cut at 1 KiB"),
    F(engine, TEXT, "Engine in effect: Monitor, Trace, …"),
    F(backend, TEXT, "nvidia, amd, …; none: no GPU; sim: a simulated one"),
    F(simulated, BOOL, "True: the GPU was simulated"),
    F(version, TEXT, "Version of the library that wrote it"),
    F(system, TEXT, "Operating system, release and machine"),
    F(start, INT, "Start of the session, ns on CLOCK_MONOTONIC"),
    F(clock_monotonic, INT, "CLOCK_MONOTONIC, read together with clock_real, ns"),
    F(clock_real, INT,
      "ns since the Unix epoch; epoch = monotonic + (clock_real - clock_monotonic)"),
    F(clock_uncertainty, INT, "Width of the interval in which both were read, ns"),
};

void header_clear(struct wire_header *h)
{
    memset(h, 0, sizeof *h);
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
        if (header_fields[i].kind == HEADER_TEXT)
            *(const char **)((char *)h + header_fields[i].offset) = "";
}
