"""Committed use discounts of Google Cloud: the fee of a commitment, spread over the usage that it covered.

Until the new model, a commitment is a fee on lines of its own (`Commitment v1: ...`), and covered usage has the price
on demand less a credit of the same amount: it nets to 0, and the fee is often in another project. In the new model
usage has the price of the commitment, and a FEE_UTILIZATION_OFFSET on the fee leaves what was not used. One computation
serves both: of the fees of a pool, usage takes a part for the quantity that credits covered, and the rest is unused. A
pool is a billing account, invoice month and currency, and for commitments to resources also a region and a kind of
resource. What commitments to spend cover is not in the export, so all of their fee is taken, in proportion to
credits. The fees of commitments are looked for in the same file.
"""

from trainfare.sources.raw import RawTable

CREDITS = ("COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE")
SCALE = 10**9
"""Quantities are compared in these parts of a unit."""
IS_FEE = "(lower(sku) LIKE 'commitment%' AND coalesce(lower(cost_type), 'regular') = 'regular')"
NO_FEE = "the fee of the commitment that covered it is not in this file: its effective cost is without it"
ALL_TAKEN = "what the commitment covered is not stated: all of its fee is spread over covered usage"
KINDS = """CASE WHEN regexp_matches(lower(sku), '\\b(gpu|tpu)s?\\b') THEN 'accelerator'
  WHEN regexp_matches(lower(sku), '\\b(ram|memory)\\b') THEN 'memory'
  WHEN regexp_matches(lower(sku), 'ssd') THEN 'disk' ELSE 'core' END"""


def spread(raw: RawTable, rows: str, has_fees: bool) -> str:
    """Return a SELECT of the rows with `fee_share`, `unused_fee` and `commitment_note`.

    `rows` have their fields, `net` (the cost with the credits that are part of it) and `covered` (the size of the
    credits for commitments). The parts of a pool's fees add up to them exactly.
    """
    if not has_fees:
        note = f"CASE WHEN covered > 0 THEN '{NO_FEE}' END AS commitment_note"
        return f"SELECT *, CAST(0 AS DECIMAL(38,12)) AS fee_share, CAST(0 AS DECIMAL(38,12)) AS unused_fee, {note} FROM ({rows})"
    pooled = f"""SELECT *, {IS_FEE} AS is_fee, is_of_spend OR ({IS_FEE} AND lower(sku) LIKE '%dollar based%') AS by_spend,
      {KINDS} AS kind FROM ({rows})"""
    keyed = f"""SELECT *, concat_ws('|', billing_account_id, invoice_month, currency,
        CASE WHEN by_spend THEN 'spend' ELSE concat(coalesce(region, ''), '|', kind) END) AS pool,
      is_fee OR covered > 0 AS is_pooled FROM ({pooled})"""
    measured = f"""SELECT *, NOT by_spend
        AND count(*) FILTER (is_pooled AND (quantity IS NULL OR pricing_unit IS NULL)) OVER (PARTITION BY pool) = 0
        AND min(pricing_unit) FILTER (is_pooled) OVER (PARTITION BY pool)
          = max(pricing_unit) FILTER (is_pooled) OVER (PARTITION BY pool) AS is_measured
      FROM ({keyed})"""
    weighed = f"""SELECT *,
        CASE WHEN is_fee OR covered <= 0 THEN 0 WHEN is_measured AND cost > 0
          THEN CAST(round(CAST(quantity AS DOUBLE) * {SCALE} * CAST(covered AS DOUBLE) / CAST(cost AS DOUBLE)) AS BIGINT)
          ELSE CAST(round(CAST(covered AS DOUBLE) * {SCALE}) AS BIGINT) END AS weight,
        CASE WHEN is_fee AND is_measured THEN CAST(round(CAST(quantity AS DOUBLE) * {SCALE}) AS BIGINT) ELSE 0 END AS owed,
        CASE WHEN is_fee THEN in_units(CAST(net AS DECIMAL(38,12))) ELSE 0 END AS fee
      FROM ({measured})"""
    whole, so_far = "OVER (PARTITION BY pool)", "OVER (PARTITION BY pool ORDER BY native_line ROWS UNBOUNDED PRECEDING)"
    summed = f"""SELECT *, CAST(sum(fee) {whole} AS HUGEINT) AS fees, CAST(sum(fee) {so_far} AS HUGEINT) AS fees_to,
        CAST(sum(weight) {whole} AS BIGINT) AS used, CAST(sum(weight) {so_far} AS BIGINT) AS weight_to,
        CAST(sum(owed) {whole} AS BIGINT) AS all_owed, count(*) FILTER (is_fee) {whole} AS fee_lines
      FROM ({weighed})"""
    totaled = f"""SELECT *, CASE WHEN used >= CAST(all_owed AS HUGEINT) * 999999 // 1000000 THEN used ELSE all_owed END
      AS total FROM ({summed})"""
    share = "integer_part(fees, weight_to, total) - integer_part(fees, weight_to - weight, total)"
    taken = "integer_part(fees_to, used, total) - integer_part(fees_to - fee, used, total)"
    return f"""SELECT *,
        CASE WHEN weight > 0 THEN as_money({share}) ELSE 0 END AS fee_share,
        CASE WHEN is_fee THEN as_money(fee - CASE WHEN total > 0 THEN {taken} ELSE 0 END) ELSE 0 END AS unused_fee,
        CASE WHEN weight > 0 AND fee_lines = 0 THEN '{NO_FEE}'
          WHEN weight > 0 AND NOT is_measured THEN '{ALL_TAKEN}' END AS commitment_note
      FROM ({totaled})"""
