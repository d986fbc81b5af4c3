"""A proxy between a server and the service that it asks. The proxy does something just before a given word passes."""
import socket
import threading


class Between:
    """with Between(port) as b: connect to b.port instead; b.before(b"word", act) calls act once, before the word is
    sent on."""

    def __init__(self, port):
        self.to, self.word, self.act = port, None, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def before(self, word, act):
        self.act, self.word = act, word

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to))
            for source, sink, asks in ((near, far, True), (far, near, False)):
                threading.Thread(target=self.pump, args=(source, sink, asks), daemon=True).start()

    def pump(self, source, sink, asks):
        try:
            while data := source.recv(65536):
                if asks and self.word and self.word in data:
                    self.word = None
                    self.act()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
