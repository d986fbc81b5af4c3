/* terminal.c - see terminal.h. ncurses knows terminals, and sends only what has changed.
 *
 * ncurses makes some sixty writes a frame, and a terminal may draw between two of these. So ncurses
 * writes to a descriptor of its own, which is a file in memory while a frame is made; the terminal
 * gets that file in one write. SIGTSTP, for which ncurses sends more, and SIGWINCH, for which it
 * asks the descriptor for the size, wait meanwhile. */
#include "cli/monitor/terminal.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "cli/monitor/screen.h"

#include <fcntl.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ESCAPE_MS = 25, FRAME_MOST = 4 << 20 };

static volatile sig_atomic_t ended; /* by a signal */
static SCREEN *screen;
static FILE *out;      /* of ncurses: a second descriptor of the terminal */
static int frame = -1; /* the file in memory */
static char *bytes;    /* owned: of a frame */
static size_t room;

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

/* Makes the file in memory. A limit on file sizes holds for such files, too, and is checked before:
 * the signal at the limit would end gpufl and leave the terminal as ncurses has set it. -1: there
 * is no file, and a frame takes several writes. */
static int make_frame(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur < FRAME_MOST)
        return -1;
    return memfd_create("gpufl-frame", MFD_CLOEXEC);
}

bool terminal_open(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    out = fd >= 0 ? fdopen(fd, "w") : NULL;
    screen = out ? newterm(NULL, out, stdin) : NULL;
    if (!screen)
        return false;
    frame = make_frame();
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
    (void)fclose(out);
    if (frame >= 0)
        close(frame);
    frame = -1;
    mem_free(bytes);
    bytes = NULL;
    room = 0;
}

/* ncurses asks for the size when it gets SIGWINCH, which may be too early. */
void terminal_size(int *rows, int *columns)
{
    struct winsize now;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row && now.ws_col &&
        is_term_resized(now.ws_row, now.ws_col))
        (void)resizeterm(now.ws_row, now.ws_col);
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

/* Sends what ncurses has put into the file. */
static void send_frame(void)
{
    off_t n = lseek(frame, 0, SEEK_CUR); /* ncurses's descriptor shares the offset */
    if (n > 0 && !mem_grow(&bytes, &room, (size_t)n, 1, FRAME_MOST) &&
        pread(frame, bytes, (size_t)n, 0) == n)
        (void)file_write_all(STDOUT_FILENO, bytes, (size_t)n);
}

static void send_changes(void)
{
    sigset_t later, before;
    sigemptyset(&later);
    sigaddset(&later, SIGTSTP);
    sigaddset(&later, SIGWINCH);
    sigprocmask(SIG_BLOCK, &later, &before);
    bool whole = frame >= 0 && ftruncate(frame, 0) == 0 && lseek(frame, 0, SEEK_SET) == 0 &&
                 dup3(frame, fileno(out), O_CLOEXEC) >= 0;
    refresh();
    if (whole && dup3(STDOUT_FILENO, fileno(out), O_CLOEXEC) >= 0)
        send_frame();
    sigprocmask(SIG_SETMASK, &before, NULL);
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
    send_changes();
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
    int key = getch(); /* ncurses has read a key of several bytes, or a new size, already */
    if (key == ERR && !ended) {
        (void)poll(&p, 1, milliseconds);
        key = getch();
    }
    bool gone = (p.revents & (POLLHUP | POLLERR | POLLNVAL)) && key == ERR;
    return ended || gone ? TERMINAL_END : key_of(key);
}
