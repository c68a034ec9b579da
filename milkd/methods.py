"""The methods of the protocol as methods of the client.

Each one sends its arguments under their names in the protocol, leaving out those that
are None, so that the daemon's defaults hold.  The result is the protocol's map.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, cast

    from milkd.shapes import (
        Alike,
        Config,
        Detail,
        Explanation,
        Forgotten,
        Health,
        Hello,
        Imported,
        Injection,
        Json,
        Judged,
        Judgement,
        Learned,
        Outcome,
        Outlook,
        Page,
        Percept,
        Recalled,
        Related,
        Reloaded,
        Report,
        Resolved,
        SessionOpened,
        Sessions,
        Snapshot,
        Stats,
        ToolResult,
        Tools,
        Unrelated,
        Whys,
    )
    from milkd.shapes import Dropped as SessionDropped
else:

    def cast(_shape: str, value: object) -> object:
        """`typing.cast` without importing `typing`."""
        return value


__all__ = ["Methods"]


class Methods:
    """What the daemon can be asked, in terms of `call()`."""

    session: str | None

    def call(self, method: str, /, **arguments: object) -> dict[str, Any]:
        """Call any method with these arguments, leaving out those that are None."""
        raise NotImplementedError

    # Stating facts

    def record(
        self,
        content: str,
        *,
        session: str | None = None,
        producer: str | None = None,
        consumer: str | None = None,
        subject: str | None = None,
        roles: Mapping[str, Json] | None = None,
        core: bool | None = None,
        relation: str | None = None,
        related_to: str | None = None,
    ) -> Outcome:
        """State a fact: it is inserted, or reinforces the one that it restates.

        What an agent repeats after it was shown it is `echoed`, and strengthens nothing.

        Args:
            content: The fact, one sentence.
            session: Where an unknown fact goes; global without a session.
            producer: Who asserts it: user, primary (the default), escalation or system.
            consumer: Whom it is for: primary or escalation; all by default.
            subject: What it is about.
            roles: Any of action, agent, recipient, theme, when, where.
            core: Whether it never fades (and is global).
            relation: How it bears on `related_to`: extends, updates, derives or contradicts.
            related_to: Id, prefix of an id, or text of another percept.
        """
        answer = self.call(
            "record",
            content=content,
            session=self._within(session),
            producer=producer,
            consumer=consumer,
            subject=subject,
            roles=roles,
            core=core,
            relation=relation,
            related_to=related_to,
        )
        return cast("Outcome", answer)

    def learn(
        self, content: str, *, session: str | None = None, subject: str | None = None
    ) -> Learned:
        """State a fact for good: global, never fading, strength 1."""
        session = self._within(session)
        answer = self.call("learn", content=content, session=session, subject=subject)
        return cast("Learned", answer)

    # Changing what is there.  A `ref` is an id, 4 or more of its first digits with or without
    # `#`, or a text that fits one visible percept; NotFound or Ambiguous if it is not one.

    def edit(self, ref: str, content: str, *, session: str | None = None) -> Percept:
        """Give a percept other words; id, strength and evidence stay."""
        session = self._within(session)
        return cast("Percept", self.call("edit", ref=ref, content=content, session=session))

    def forget(
        self,
        ref: str,
        *,
        session: str | None = None,
        all: bool | None = None,  # noqa: A002 - the protocol's name
    ) -> Forgotten:
        """Delete a percept and its edges; with `all`, every percept of the same text."""
        session = self._within(session)
        return cast("Forgotten", self.call("forget", ref=ref, session=session, all=all))

    def restore(self, ref: str, *, session: str | None = None) -> Percept:
        """Bring a percept back from the archive."""
        return cast("Percept", self.call("restore", ref=ref, session=self._within(session)))

    def relate(
        self, source: str, relation: str, target: str, *, session: str | None = None
    ) -> Related:
        """Say that `source` extends, updates, derives or contradicts `target`."""
        return cast("Related", self._edge("relate", source, relation, target, session))

    def unrelate(
        self, source: str, relation: str, target: str, *, session: str | None = None
    ) -> Unrelated:
        """Take back what `relate` said."""
        return cast("Unrelated", self._edge("unrelate", source, relation, target, session))

    # Reading

    def query(
        self,
        text: str,
        *,
        session: str | None = None,
        min_confidence: float | None = None,
        max_results: int | None = None,
        consumer: str | None = None,
        explain: bool | None = None,
    ) -> Recalled:
        """Recall the percepts that share words with `text`, those that share most first.

        Args:
            text: Words to look for; an empty text recalls the highest scores.
            session: Whose percepts to see besides the global ones.
            min_confidence: Least strength, 0 to 1 (0.4 by default).
            max_results: At most so many (5 by default).
            consumer: Leave out what is for another agent than this one.
            explain: Whether to give the reason for every candidate.
        """
        answer = self.call(
            "query",
            text=text,
            session=self._within(session),
            min_confidence=min_confidence,
            max_results=max_results,
            consumer=consumer,
            explain=explain,
        )
        return cast("Recalled", answer)

    recall = query

    def inject(
        self,
        prompt: str,
        *,
        session: str | None = None,
        consumer: str | None = None,
        repeat: bool | None = None,
        max: int | None = None,  # noqa: A002 - the protocol's name
        max_bytes: int | None = None,
        explain: bool | None = None,
    ) -> Injection:
        """A block of the facts that bear on a prompt, to be put before it.

        What the last turns showed is not repeated.

        Args:
            prompt: What is about to be asked of the agent.
            session: Whose percepts to see besides the global ones.
            consumer: The agent: primary or escalation.
            repeat: Whether to show again what the last turns showed.
            max: At most so many facts (the knob percept_inject_max by default).
            max_bytes: Size of the block in bytes, at most (percept_inject_max_bytes).
            explain: Whether to give the reason for every candidate.
        """
        answer = self.call(
            "inject",
            prompt=prompt,
            session=self._within(session),
            consumer=consumer,
            repeat=repeat,
            max=max,
            max_bytes=max_bytes,
            explain=explain,
        )
        return cast("Injection", answer)

    def list(
        self,
        *,
        session: str | None = None,
        scope: str | None = None,
        producer: str | None = None,
        consumer: str | None = None,
        min_w: float | None = None,
        core: bool | None = None,
        pattern: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """A page of what is visible; pass its `next` as `cursor` to get the following one.

        Args:
            session: Whose percepts to see besides the global ones.
            scope: Only global, session or archive.
            producer: Only what this producer asserted.
            consumer: Leave out what is for another agent than this one.
            min_w: Least strength, 0 to 1.
            core: Only percepts that never fade, or only others.
            pattern: Text that the content holds, whatever its case.
            sort: score (the default), w, updated_at or created_at; highest or newest first.
            limit: Percepts in a page, 1 to 500 (100 by default).
            cursor: Where to go on.
        """
        answer = self.call(
            "list",
            session=self._within(session),
            scope=scope,
            producer=producer,
            consumer=consumer,
            min_w=min_w,
            core=core,
            pattern=pattern,
            sort=sort,
            limit=limit,
            cursor=cursor,
        )
        return cast("Page", answer)

    def show(self, ref: str, *, session: str | None = None) -> Detail:
        """A percept with its edges."""
        return cast("Detail", self.call("show", ref=ref, session=self._within(session)))

    def explain(self, ref: str, *, session: str | None = None) -> Explanation:
        """What holds for a percept and what comes next, in sentences."""
        return cast("Explanation", self.call("explain", ref=ref, session=self._within(session)))

    def outlook(self, *, session: str | None = None, limit: int | None = None) -> Outlook:
        """What is visible and what is ahead of it; no activity, and no session is opened.

        Args:
            session: Whose percepts to see besides the global ones, if it is open.
            limit: Percepts of a scope, and of those that are due, 1 to 500 (100 by default).
        """
        session = self._within(session)
        return cast("Outlook", self.call("outlook", session=session, limit=limit))

    def why(
        self, ref: str, prompt: str, *, session: str | None = None, consumer: str | None = None
    ) -> Whys:
        """Why a percept would come for a prompt, or would not; nothing is shown by asking."""
        session = self._within(session)
        answer = self.call("why", ref=ref, prompt=prompt, session=session, consumer=consumer)
        return cast("Whys", answer)

    def resolve(self, ref: str, *, session: str | None = None) -> Resolved:
        """Every percept that a reference could mean."""
        return cast("Resolved", self.call("resolve", ref=ref, session=self._within(session)))

    def similar(self, text: str, *, session: str | None = None, limit: int | None = None) -> Alike:
        """The percepts beside which `text` would be held if it were stated; changes nothing."""
        session = self._within(session)
        return cast("Alike", self.call("similar", text=text, session=session, limit=limit))

    def archive_list(self, *, limit: int | None = None, cursor: str | None = None) -> Page:
        """A page of the archive."""
        return cast("Page", self.call("archive_list", limit=limit, cursor=cursor))

    # What use facts were

    def turn_end(
        self,
        response: str,
        *,
        session: str | None = None,
        turn: int | None = None,
        tool_text: str | None = None,
        user_reply: str | None = None,
        consolidate: bool | None = None,
    ) -> Judgement:
        """Judge each percept that was shown in a turn by what the agent did; once.

        That moves its importance, which orders what comes back, and nothing else.

        Args:
            response: What the agent answered.
            session: Whose turn; without a session, this connection's.
            turn: The one that `inject` or `query` gave; by default the oldest unjudged one.
            tool_text: What the agent did: arguments of tools, diffs.
            user_reply: What the user said to that.
            consolidate: Whether a pass goes with it.
        """
        answer = self.call(
            "turn_end",
            response=response,
            session=self._within(session),
            turn=turn,
            tool_text=tool_text,
            user_reply=user_reply,
            consolidate=consolidate,
        )
        return cast("Judgement", answer)

    def confirm(self, ref: str, *, session: str | None = None) -> Judged:
        """The user says that a percept was right: it comes earlier from now on."""
        return cast("Judged", self.call("confirm", ref=ref, session=self._within(session)))

    def reject(self, ref: str, *, session: str | None = None) -> Judged:
        """The user says that a percept was wrong or out of place: it comes later."""
        return cast("Judged", self.call("reject", ref=ref, session=self._within(session)))

    # Tools for a model

    def tool_schemas(self, form: str = "openai") -> Tools:
        """The tools, as OpenAI's function schemas or, with `mcp`, in MCP's form."""
        return cast("Tools", self.call("tool_schemas", format=form))

    def tool_call(
        self, name: str, arguments: Mapping[str, Json], *, session: str | None = None
    ) -> ToolResult:
        """Do what a model asked for by a tool; what it got wrong is in `error`, for it to read."""
        session = self._within(session)
        answer = self.call("tool_call", name=name, arguments=arguments, session=session)
        return cast("ToolResult", answer)

    # Sessions and passes

    def consolidate(self, *, session: str | None = None) -> Report:
        """One pass (decay, prune, promote, archive) over global and a session, or every one."""
        return cast("Report", self.call("consolidate", session=self._within(session)))

    def session_open(self, session: str | None = None) -> SessionOpened:
        """Open a session, or keep it open as long as this connection lasts."""
        return cast("SessionOpened", self.call("session_open", session=self._within(session)))

    def session_close(self, session: str | None = None) -> Report:
        """End a session with a pass over it; it forgets what it was shown."""
        return cast("Report", self.call("session_close", session=self._within(session)))

    def session_drop(self, session: str | None = None) -> SessionDropped:
        """Delete a session with all that is in it."""
        return cast("SessionDropped", self.call("session_drop", session=self._within(session)))

    def session_list(self, *, limit: int | None = None, cursor: str | None = None) -> Sessions:
        """A page of the sessions that the store knows, open or not."""
        return cast("Sessions", self.call("session_list", limit=limit, cursor=cursor))

    # The daemon itself

    def hello(self) -> Hello:
        """Who the daemon is and what it accepts."""
        from milkd import __version__

        return cast("Hello", self.call("hello", client="milkd-python", version=__version__))

    def ping(self) -> None:
        """Return when the daemon has answered."""
        self.call("ping")

    def health(self) -> Health:
        """Whether the daemon can do its work."""
        return cast("Health", self.call("health"))

    def stats(self) -> Stats:
        """Counts and times."""
        return cast("Stats", self.call("stats"))

    def config(self) -> Config:
        """The settings in force and where they came from."""
        return cast("Config", self.call("config"))

    def reload(self) -> Reloaded:
        """Have the config file read again; InvalidParams names what is wrong with it."""
        return cast("Reloaded", self.call("reload"))

    def snapshot(self) -> Snapshot:
        """Have the files written that milk reads."""
        return cast("Snapshot", self.call("snapshot"))

    def shutdown(self) -> None:
        """Stop the daemon; returns once all is saved."""
        self.call("shutdown")

    # Many records

    def export(self, *, page: int | None = None) -> Iterator[dict[str, Json]]:
        """Every record of the store, fetched in pages of `page` records."""
        cursor: str | None = None
        while True:
            answer = self.call("export", cursor=cursor, limit=page)
            yield from answer["records"]
            cursor = answer.get("next")
            if cursor is None:
                return

    def import_(self, records: Iterable[Mapping[str, Json]], *, dry_run: bool = False) -> Imported:
        """Add records such as `export` gives, at one stroke, on this connection.

        Args:
            records: Ids and edges must be new to the store.
            dry_run: Only check them.
        """
        from milkd.chunks import chunks

        answer: dict[str, Any] = {}
        for chunk, final in chunks(records):
            answer = self.call("import", records=chunk, dry_run=dry_run or None, final=final)
        return cast("Imported", answer)

    def _within(self, session: str | None) -> str | None:
        """The session given, however empty: a mistake must not turn into a global fact."""
        return self.session if session is None else session

    def _edge(
        self, method: str, source: str, relation: str, target: str, session: str | None
    ) -> dict[str, Any]:
        ends = {"from": source, "to": target}
        return self.call(method, relation=relation, session=self._within(session), **ends)
