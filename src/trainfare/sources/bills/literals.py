"""Lists that were written as Python prints them: what pandas makes of nested columns when it writes CSV."""

from trainfare.engine.sql import quoted

REPLACEMENTS = (
    (r"\}\s+\{", "}, {"),  # an array of numpy has no commas
    (r"([\[{,:]\s*)None(\s*[\]},])", r"\1null\2"),
    (r"([\[{,:]\s*)True(\s*[\]},])", r"\1true\2"),
    (r"([\[{,:]\s*)False(\s*[\]},])", r"\1false\2"),
    (r"([\[{,:]\s*)nan(\s*[\]},])", r"\1null\2"),
)


def as_json(text: str) -> str:
    """Return SQL for a JSON text, given SQL for JSON or a Python literal; text that is neither stays as it is.

    A literal with both kinds of quotes is left alone: which of them are part of a value is not known.
    """
    literal = f"replace({text}, '''', '\"')"
    for pattern, replacement in REPLACEMENTS:
        literal = f"regexp_replace({literal}, {quoted(pattern)}, {quoted(replacement)}, 'g')"
    is_literal = f"contains({text}, '''') AND NOT contains({text}, '\"')"
    return f"CASE WHEN {is_literal} AND json_valid({literal}) THEN {literal} ELSE {text} END"


def object_of_pairs(text: str) -> str:
    """Return SQL for a JSON object, given SQL for a JSON list of objects with a key and a value; the first key counts.

    Null if it is not such a list.
    """
    pairs = f"""from_json({text}, '[{{"key":"VARCHAR","value":"VARCHAR"}}]')"""
    keys = f"list_transform({pairs}, lambda pair: pair.key)"
    first = f"list_filter({pairs}, lambda pair, position: list_position({keys}, pair.key) = position)"
    is_list = f"json_valid({text}) AND json_type({text}) = 'ARRAY'"
    has_keys = f"len(list_filter({keys}, lambda key: key IS NULL)) = 0"
    return f"CASE WHEN {is_list} AND {has_keys} THEN CAST(to_json(map_from_entries({first})) AS VARCHAR) END"
