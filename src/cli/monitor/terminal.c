/* terminal.c - see terminal.h. ncurses knows terminals; it sends what has changed in one write. */
#include "cli/monitor/terminal.h"

#include "cli/monitor/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE_MS = 25 };

static volatile sig_atomic_t ended; /* by a signal */
static SCREEN *screen;

static void note_end(int number)
{
    (void)number;
    ended = 1;
}

bool terminal_is_there(void)
{
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

void terminal_take_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    struct sigaction act = {.sa_handler = note_end}; /* waiting ends: no SA_RESTART */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &act, NULL);
}

static void make_colors(void)
{
    const char *no = getenv("NO_COLOR");
    if ((no && *no) || !has_colors() || start_color() == ERR)
        return;
    bool kept = use_default_colors() != ERR;
    short back = kept ? -1 : COLOR_BLACK;
    init_pair(STYLE_GOOD, COLOR_GREEN, back);
    init_pair(STYLE_WARN, COLOR_YELLOW, back);
    init_pair(STYLE_BAD, COLOR_RED, back);
}

bool terminal_open(void)
{
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return false;
    set_term(screen);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    curs_set(0);
    make_colors();
    return true;
}

void terminal_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

void terminal_size(int *rows, int *columns)
{
    getmaxyx(stdscr, *rows, *columns);
}

/* ---- out ----------------------------------------------------------------------------------- */

static attr_t attribute_of(int style)
{
    switch (style) {
    case STYLE_DIM:
        return A_DIM;
    case STYLE_HEAD:
        return A_BOLD;
    case STYLE_CHOSEN:
        return A_REVERSE;
    case STYLE_GOOD:
    case STYLE_WARN:
        return (attr_t)COLOR_PAIR(style);
    case STYLE_BAD:
        return (attr_t)COLOR_PAIR(style) | A_BOLD;
    default:
        return A_NORMAL;
    }
}

void terminal_show(const struct canvas *c)
{
    erase();
    for (int row = 0; row < c->rows; row++)
        for (int column = 0; column < c->columns; column++) {
            const struct cell *x = &c->cells[row * c->columns + column];
            if (!*x->text || (x->style == STYLE_PLAIN && !strcmp(x->text, " ")))
                continue;
            attrset((int)attribute_of(x->style));
            mvaddstr(row, column, x->text);
        }
    refresh();
}

/* ---- in ------------------------------------------------------------------------------------ */

bool terminal_wait(int milliseconds)
{
    if (!ended)
        (void)poll(NULL, 0, milliseconds);
    return !ended;
}

static int key_of(int key)
{
    switch (key) {
    case ERR:
    case KEY_RESIZE:
        return TERMINAL_NONE;
    case KEY_UP:
        return KEY_OF_UP;
    case KEY_DOWN:
        return KEY_OF_DOWN;
    case KEY_PPAGE:
        return KEY_OF_PAGE_UP;
    case KEY_NPAGE:
        return KEY_OF_PAGE_DOWN;
    case KEY_HOME:
        return KEY_OF_HOME;
    default:
        return key;
    }
}

int terminal_key(int milliseconds)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    timeout(0);
    int key = getch(); /* a key of several bytes, or a new size, that ncurses has already */
    if (key == ERR && !ended) {
        (void)poll(&p, 1, milliseconds);
        key = getch();
    }
    bool gone = (p.revents & (POLLHUP | POLLERR | POLLNVAL)) && key == ERR;
    return ended || gone ? TERMINAL_END : key_of(key);
}
