"""The web application of a review: a page, its data, and decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Response
from fastapi.responses import JSONResponse

from known_unknowns.errors import DataError, MachineError
from known_unknowns_construction.review.decisions import ADJUDICATOR, Decision
from known_unknowns_construction.review.items import Item, servable
from known_unknowns_construction.review.session import (
    REASONS,
    TAGS,
    Name,
    RejectedRequest,
    Review,
    SentDecision,
    SentUndo,
)

_SCRIPTS = ("review.js", "view.js", "outbox.js", "drafts.js", "difference.js", "images.js")
_STATIC = {
    "": ("index.html", "text/html; charset=utf-8"),
    "review.css": ("review.css", "text/css; charset=utf-8"),
    **{name: (name, "text/javascript; charset=utf-8") for name in _SCRIPTS},
}


def make_app(review: Review) -> FastAPI:
    """Return the application of a review. Put `known_unknowns_construction.review.guard.Guard` around it."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_errors(app)
    _add_pages(app, review)
    _add_decisions(app, review)
    return app


def _add_errors(app: FastAPI) -> None:
    def detail(text: str, status: int) -> JSONResponse:
        return JSONResponse({"detail": text}, status)

    handlers: dict[type[Exception], Callable[[Any], JSONResponse]] = {
        RejectedRequest: lambda error: detail(str(error), error.status),
        MachineError: lambda error: detail(str(error), 507),
        OSError: lambda error: detail(f"the decision could not be written: {error.strerror}", 507),
        DataError: lambda error: detail(str(error), 404),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, lambda request, error, handler=handler: handler(error))


def _add_pages(app: FastAPI, review: Review) -> None:
    @app.get("/api/session")
    def describe(reviewer: Annotated[Name, Query()] = "") -> dict[str, Any]:
        return _session(review, reviewer)

    @app.get("/api/item/{place}")
    def show(place: Annotated[int, Path(ge=0)], reviewer: Annotated[Name, Query()]) -> dict[str, Any]:
        return _item(review, reviewer, place)

    @app.get("/images/{place}/{number}")
    def image(place: Annotated[int, Path(ge=0)], number: Annotated[int, Path(ge=0)]) -> Response:
        items = review.source.items
        if place >= len(items) or number >= len(items[place].images):
            raise RejectedRequest("no such image", 404)
        data, media_type = servable(items[place].images[number], name=f"image of {items[place].id}")
        return Response(data, media_type=media_type, headers={"cache-control": "private, max-age=3600"})

    @app.get("/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise RejectedRequest("no such page", 404)
        file, media_type = _STATIC[name]
        data = files(__package__).joinpath("static", file).read_bytes()
        return Response(data, media_type=media_type, headers={"cache-control": "no-cache"})

    app.get("/")(lambda: static(""))


def _add_decisions(app: FastAPI, review: Review) -> None:
    @app.post("/api/decision")
    def decide(sent: SentDecision) -> dict[str, Any]:
        written = review.decide(sent)
        return {
            "state": review.state(sent.reviewer, sent.item),
            "time": written.time,
            "progress": review.progress(sent.reviewer),
        }

    @app.post("/api/undo")
    def undo(sent: SentUndo) -> dict[str, Any]:
        place = review.undo(sent.reviewer, sent.key)
        return {
            "item": place,
            "state": None if place is None else review.state(sent.reviewer, place),
            "progress": review.progress(sent.reviewer),
        }


def _session(review: Review, reviewer: str) -> dict[str, Any]:
    common = {
        "title": review.source.title,
        "kind": review.source.kind,
        "reviewers": review.reviewers,
        "adjudicates": review.role == ADJUDICATOR,
        "blind": review.blind,
        "tags": TAGS,
        "reasons": REASONS,
        "file": review.log.path.name,
        "needsReason": review.source.needs_reason,
    }
    if not reviewer:
        return common
    queue = review.queue(reviewer)
    items = review.source.items
    return common | {
        "reviewer": reviewer,
        "queue": [[place, int(bool(items[place].flags)), review.state(reviewer, place)] for place in queue],
        "progress": review.progress(reviewer),
    }


def _item(review: Review, reviewer: str, place: int) -> dict[str, Any]:
    item = review.item(reviewer, place)
    own = review.own(reviewer, place)
    return {
        "id": item.id,
        "category": item.category,
        "content": asdict(item.content),
        "sha256": item.content.sha256,
        "images": [{"width": image.width, "height": image.height} for image in item.images],
        "objects": _objects(item),
        "flags": [{"filter": name, "reason": reason} for name, reason in item.flags],
        "facts": dict(item.facts),
        "wrong": None if item.wrong is None else asdict(item.wrong),
        "decision": None if own is None else _shown(own),
        "others": [_shown(decision) for decision in review.of_others(reviewer, place)],
        "state": review.state(reviewer, place),
    }


def _objects(item: Item) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "box": list(each.box), "outline": [list(polygon) for polygon in each.outline]}
        for each in item.objects
    ]


def _shown(decision: Decision) -> dict[str, Any]:
    return {
        "reviewer": decision.reviewer,
        "time": decision.time,
        "action": decision.action,
        "reason": decision.reason,
        "tag": decision.tag,
        "after": asdict(decision.after) if decision.after else None,
    }
