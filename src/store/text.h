/* text.h - makes texts valid UTF-8, so that every engine takes them. Functions without state. */
#ifndef GPUFL_STORE_TEXT_H
#define GPUFL_STORE_TEXT_H

#include "base/buf.h"
#include "store/store.h"

/* Returns the text with U+FFFD for bytes that are not UTF-8: the text itself, or a copy in room.
 * room notes an error. */
struct store_text text_clean(struct buf *room, const char *text, size_t len);

#endif
