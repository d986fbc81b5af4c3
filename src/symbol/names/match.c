/* match.c - see match.h. */
#include "symbol/names/match.h"

/* Returns true if the rest of a pattern cannot begin at a position, by its first letter. */
static bool begins_elsewhere(const char *pattern, struct span s, size_t i)
{
    char c = *pattern;
    return c && c != '*' && c != '#' && c != '?' && (i >= s.len || s.at[i] != c);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool match_fits(const char *pattern, struct span s, size_t i, struct match *m)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*' || *pattern == '#') {
            size_t begin = i, slot = m->count;
            if (slot == MATCH_CAPTURES)
                return false;
            if (*pattern == '#')
                while (i < s.len && is_digit(s.at[i]))
                    i++;
            if (*pattern == '#' && i == begin)
                return false;
            for (;; i++) {
                m->caught[slot] = (struct span){s.at + begin, i - begin};
                m->count = slot + 1;
                if (!begins_elsewhere(pattern + 1, s, i) && match_fits(pattern + 1, s, i, m))
                    return true;
                m->count = slot;
                if (*pattern == '#' || i >= s.len)
                    return false;
            }
        }
        if (i >= s.len || (*pattern != '?' && s.at[i] != *pattern))
            return false;
        i++;
    }
    return i == s.len;
}

static bool holds(struct span s, const char *text, size_t len)
{
    for (size_t i = 0; i + len <= s.len; i++)
        if (s.at[i] == text[0] && !memcmp(s.at + i, text, len))
            return true;
    return false;
}

bool match_holds_all(struct span s, const char *within)
{
    while (*within) {
        size_t n = strcspn(within, "|");
        if (!holds(s, within, n))
            return false;
        within += n + (within[n] == '|');
    }
    return true;
}

bool match_holds_any(struct span s, const char *texts)
{
    while (*texts) {
        size_t n = strcspn(texts, "|");
        if (holds(s, texts, n))
            return true;
        texts += n + (texts[n] == '|');
    }
    return false;
}

bool match_path(struct span core, char path[MATCH_PATH], size_t *len)
{
    int depth = 0;
    *len = 0;
    for (size_t i = 0; i < core.len; i++) {
        char c = core.at[i];
        if (!depth && starts(core, i, "(anonymous namespace)::")) {
            i += strlen("(anonymous namespace)::") - 1;
            continue;
        }
        bool closes = (c == '>' && !(i && core.at[i - 1] == '-')) || c == ']';
        depth += c == '<' || c == '[';
        if (!depth && *len == MATCH_PATH)
            return false;
        if (!depth)
            path[(*len)++] = c;
        depth -= closes && depth;
    }
    return *len > 0;
}
