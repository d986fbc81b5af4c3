/* files_plug.c - is a library that waits for the GPU in a function of its own: see files.c. */
__attribute__((visibility("default"))) int plug_wait(int (*sync)(void *), void *stream);

static int waits;

__attribute__((noinline)) static int plug_inner(int (*sync)(void *), void *stream)
{
    int rc = sync(stream); /* PLUG_LINE */
    waits++;
    return rc + (waits < 0);
}

int plug_wait(int (*sync)(void *), void *stream)
{
    int rc = plug_inner(sync, stream);
    waits++;
    return rc;
}
