#!/usr/bin/env python3
"""A current ClickHouse with the part of clickhouse-server's HTTP interface that src/store uses.
Debian's
clickhouse-server is from 2018. chDB is the engine of the current ClickHouse as a library; this program loads
it and answers like clickhouse-server, so that all tests run with both: it accepts --config-file, reads the port, the
folder, the user and the password out of it, and takes statements, settings and blocks of the format Native by POST.
Answers and errors of the engine are passed on unchanged; names and passwords are checked here. It has no
cluster and no other users. Tests that get the library start this program in place of clickhouse-server:

  GPUFL_CHDB=/…/libchdb.so ctest --test-dir build -R 'clickhouse.*_today'

Standard library only.
"""
import base64
import ctypes
import http.server
import os
import pathlib
import re
import sys
import urllib.parse
import xml.etree.ElementTree as xml

NOT_SETTINGS = ("query", "query_id", "wait_end_of_query")
DENIED = 516  # AUTHENTICATION_FAILED


class Engine:
    """The library, with its data below a folder."""

    def __init__(self, library, folder):
        self.lib = ctypes.CDLL(library)
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        for name, result, *arguments in (
                ("connect", ctypes.POINTER(pointer), ctypes.c_int, ctypes.POINTER(text)), ("close_conn", None, ctypes.POINTER(pointer)),
                ("query_n", pointer, pointer, text, size, text, size), ("destroy_query_result", None, pointer),
                ("result_buffer", pointer, pointer), ("result_length", size, pointer), ("result_error", text, pointer),
                ("stream_insert_n", pointer, pointer, text, size, text, size), ("stream_append", ctypes.c_int, pointer, text, size),
                ("stream_done", pointer, pointer), ("stream_insert_error", text, pointer), ("destroy_insert_stream", None, pointer)):
            function = getattr(self.lib, "chdb_" + name)
            function.restype, function.argtypes = result, arguments
        self.arguments = (text * 2)(b"clickhouse", b"--path=" + os.fsencode(folder))
        self.first = self.connect()  # held: the engine ends with its last connection

    def connect(self):
        connection = self.lib.chdb_connect(len(self.arguments), self.arguments)
        if not connection:
            sys.exit("chdb_server: the library opens no connection")
        return connection

    def take(self, result):
        """(answer, None) or (None, what the engine says)."""
        try:
            error = self.lib.chdb_result_error(result)
            if error is not None:
                return None, error
            length = self.lib.chdb_result_length(result)
            return ctypes.string_at(self.lib.chdb_result_buffer(result), length) if length else b"", None
        finally:
            self.lib.chdb_destroy_query_result(result)

    def ask(self, connection, statement):
        return self.take(self.lib.chdb_query_n(connection.contents, statement, len(statement), b"TabSeparated", 12))

    def insert(self, connection, statement, rows):
        """Rows next to the statement: if they were in it, the library would take an empty line for their end."""
        stream = self.lib.chdb_stream_insert_n(connection.contents, statement, len(statement), b"Native", 6)
        try:
            if self.lib.chdb_stream_insert_error(stream) is None:
                self.lib.chdb_stream_append(stream, rows, len(rows))  # errors are reported at the end
            return self.take(self.lib.chdb_stream_done(stream))
        finally:
            self.lib.chdb_destroy_insert_stream(stream)

    def run(self, settings, statement, rows):
        """A statement with settings of its own; settings belong to a connection."""
        connection = self.connect()
        try:
            error = self.ask(connection, b"SET " + b", ".join(settings))[1] if settings else None
            if error is not None:
                return None, error
            return self.ask(connection, statement) if rows is None else self.insert(connection, statement, rows)
        finally:
            self.lib.chdb_close_conn(connection)


def literal(value):
    return value if value.isdecimal() else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine, user, password = None, None, None

    def log_message(self, *_):
        pass

    def answer(self, status, body, fields=()):
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, text):
        code = re.match(rb"Code: (\d+)", text)
        number = int(code[1]) if code else 0
        self.answer(403 if number == DENIED else 500, text + b"\n", [("X-ClickHouse-Exception-Code", str(number))])

    def login(self):
        """(name, password), from either kind of header."""
        said = self.headers["Authorization"]
        if said:
            return tuple(base64.b64decode(said.removeprefix("Basic ")).decode().split(":", 1))
        return self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.login() != (self.user, self.password):
            self.refuse(b"Code: %d. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)" % DENIED)
            return
        asked = urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)
        settings = [f"{name} = {literal(value)}".encode() for name, value in asked if name not in NOT_SETTINGS]
        insert = [value.removesuffix(" FORMAT Native").encode() for name, value in asked if name == "query"]
        answer, error = self.engine.run(settings, *(insert + [body] if insert else [body, None]))
        if error is not None:
            self.refuse(error)
        else:
            self.answer(200, answer)


def main():
    path = next(a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--config-file="))
    config = xml.parse(path).getroot()
    user = xml.parse(config.findtext("users_config")).getroot().find("users")[0]
    Handler.user, Handler.password = user.tag, user.findtext("password")
    folder = pathlib.Path(config.findtext("path"))
    folder.mkdir(exist_ok=True)
    os.chdir(folder)  # the library would read a config.xml next to it
    Handler.engine = Engine(os.environ["GPUFL_CHDB"], folder)
    http.server.ThreadingHTTPServer(("127.0.0.1", int(config.findtext("http_port"))), Handler).serve_forever()


if __name__ == "__main__":
    main()
