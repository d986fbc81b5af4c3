/* objects.h - keeps code objects of the program: which object has a kernel, and its bytes for the
 * session.
 *
 * The library reports each code object as it is loaded, on the thread that loads it. The bytes are
 * certain to be there only during that call, so they are copied (common/code_copies.h), from memory
 * or from the file that the object's URI names. What is known of an object is kept for the life of
 * the process, because records may come after the object is unloaded. A mutex guards the table,
 * because loading is rare. */
#ifndef GPUFL_BACKEND_AMD_TRACE_OBJECTS_H
#define GPUFL_BACKEND_AMD_TRACE_OBJECTS_H

#include "backend/amd/trace/abi.h"
#include "backend/amd/trace/elf_functions.h"
#include "backend/backend.h"

struct object {
    uint64_t id;      /* the library's */
    uint64_t hash;    /* of its bytes, in the session that saw it loaded; 0: not kept */
    uint64_t agent;   /* the library's id of the GPU it is for */
    uint64_t session; /* see objects_begin */
    const char *file; /* from which it was loaded; NULL: from memory. Never freed */
    uint64_t shift;   /* from an offset in the loaded code to an address of the ELF file */
    const struct elf_functions *functions; /* NULL: not known. Never freed */
};

/* Makes the functions of code that is loaded from now on be read. Called while the library
 * initializes the tool. [owner] */
void objects_read_functions(void);

/* Returns the function at an offset from an object's load base; never freed. NULL: no function is
 * known there. *offset: the offset in the function. [any] */
const struct elf_function *objects_function(uint64_t id, uint64_t place, uint64_t *offset);

/* Reports that a session begins, or has ended: between sessions no bytes are copied. [owner] */
void objects_begin(void);
void objects_end(void);

/* Reports that a code object is loaded. [any] */
void objects_loaded(const struct rocp_code_object *o);

/* Copies what is known of an object. False: nothing is. [any] */
bool objects_find(uint64_t id, struct object *out);

/* Writes the copies into the session. [collector] */
void objects_drain(struct sink *s);

/* Reports a code object and a kernel in it to the sink. Returns the id; 0: no room. name: mangled.
 * [collector] */
uint32_t objects_define(struct sink *s, uint64_t id, const char *arch, const char *name);

/* Reads a URI of a file ("file:///a%20b#offset=4096&size=512"): its path with the escapes resolved,
 * and the part of the file; size 0: up to its end. False: the URI names no file. Pure. */
bool objects_uri(const char *uri, char *path, size_t room, uint64_t *offset, uint64_t *size);

#endif
