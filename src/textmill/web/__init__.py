"""The workbench in a browser: a server that shows what is in model files, for people and for machines.

settings      what is served, and the limits of a request
guard         who may ask: Host, Origin, token, sizes, seconds, queue
library       the files, and newer versions of them
application   panels under /api/v1 and pages beside them
serving       processes, sockets, signals
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.web.application import create_app
    from textmill.web.serving import serve
    from textmill.web.settings import Limits, Settings

__all__ = ["Limits", "Settings", "create_app", "serve"]

__getattr__, __dir__ = deferred(
    __name__,
    {"application": "create_app", "serving": "serve", "settings": "Limits Settings"},
)
