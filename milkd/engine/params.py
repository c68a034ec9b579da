"""The knobs in force, as one value, and the two profiles that they come from.

What each knob means, its unit and range: `knobs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Params:
    """The knobs in force; by themselves those of the default profile.  Meanings: `KNOBS`."""

    profile: str = "default"
    session_half_life_days: float = 3.0
    global_half_life_days: float = 60.0
    reconfirm_boost: float = 0.05
    reconfirm_cap: float = 0.90
    promote_threshold: float = 0.80
    prune_threshold: float = 0.20
    recency_boost: float = 0.10
    recency_half_life_days: float = 30.0
    global_archive_after_days: float = 14.0
    percept_inject_max: int = 25
    percept_inject_max_bytes: int = 2048
    percept_store_max: int = 0
    percept_relevance_gate: bool = True
    percept_max_bytes: int = 8192
    secret_guard: str = "refuse"
    duplicate_threshold: float = 0.60
    running_time: str = "activity"
    run_gap_hours: float = 6.0
    unicode_text: bool = True
    distinctness_guard: str = "values"
    wordings: int = 4
    stemmer: str = "english"
    hit_fields: str = "all"
    hit_weight: str = "count"
    restate_to_birth: bool = True
    user_restatement: bool = True
    echo_guard: bool = True
    verify_user_claims: bool = True
    superseded: bool = True
    recency_unit_days: float = 1.0
    edge_cadence: str = "run"
    contradiction_floor: float = 0.30
    updates_boosts: bool = False
    keep_updates: bool = True
    promote_corroborated_threshold: float = 0.60
    merge_on_promote: bool = True
    revive: bool = True
    evict_to_archive: bool = True
    inject_order: str = "hits"
    inject_repeat_turns: int = 8
    inject_chance_words: int = 6
    diversity: str = "off"
    diversity_threshold: float = 0.45
    neighbours: str = "both"
    neighbour_overlap: float = 0.0
    neighbours_per_result: int = 2
    neighbours_max: int = 20
    importance_weight: float = 0.3
    importance_floor: float = 0.1
    feedback_used: float = 0.05
    feedback_confirmed: float = 0.15
    feedback_rejected: float = 0.10
    feedback_unused: float = 0.03
    feedback_unused_floor: float = 0.30
    feedback_used_share: float = 0.5
    feedback_unused_share: float = 0.15
    feedback_min_response: int = 25
    feedback_streak: int = 2
    feedback_reply_words: int = 6
    min_recall_count: int = 3


DEFAULT = Params()
STRICT = Params(
    profile="strict",
    running_time="open",
    run_gap_hours=0.0,
    distinctness_guard="off",
    wordings=0,
    stemmer="none",
    hit_fields="content",
    restate_to_birth=False,
    user_restatement=False,
    echo_guard=False,
    verify_user_claims=False,
    superseded=False,
    recency_unit_days=0.0,
    edge_cadence="pass",
    contradiction_floor=0.0,
    updates_boosts=True,
    keep_updates=False,
    promote_corroborated_threshold=0.80,
    merge_on_promote=False,
    revive=False,
    evict_to_archive=False,
    inject_order="score",
    inject_repeat_turns=0,
    inject_chance_words=0,
    neighbours="off",
    importance_weight=0.0,
)
"""The letter of the ADRs."""
PROFILES = {params.profile: params for params in (DEFAULT, STRICT)}
