/* text.h - cleans texts so that every engine takes them. Pure. */
#ifndef GPUFL_STORE_TEXT_H
#define GPUFL_STORE_TEXT_H

#include "base/buf.h"
#include "store/store.h"

/* The text with U+FFFD for bytes that are not UTF-8: unchanged, or in room, whose error shows. */
struct store_text text_clean(struct buf *room, const char *text, size_t len);

#endif
