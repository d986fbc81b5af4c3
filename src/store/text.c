/* text.c - see text.h. */
#include "store/text.h"

struct store_text text_clean(struct buf *room, const char *text, size_t len)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t at = 0, good;
    buf_clear(room);
    for (size_t from = 0; at <= len; at += good) {
        const unsigned char *p = (const unsigned char *)text + at;
        good = at == len ? 0 : *p < 0x80 ? 1 : utf8_sequence(p, len - at);
        if (good)
            continue;
        if (at == len && from == 0)
            return (struct store_text){text, len};
        buf_put(room, text + from, at - from);
        if (at == len)
            break;
        buf_str(room, replacement);
        good = 1;
        from = at + 1;
    }
    return (struct store_text){room->data, room->len};
}
