-- Number what shares state besides payer, machine and day, in three levels of detail: ways.
-- In: share_kinds.
-- Out: per kind of share its way with all columns, its way by category and origin, and its way that only tells
-- infrastructure and estimates apart.
SELECT *, CAST(dense_rank() OVER (ORDER BY rule, category, source, origin, account, currency, converted_from)
    AS INTEGER) AS way_1,
  CAST(dense_rank() OVER (ORDER BY category, origin, currency, converted_from) AS INTEGER) AS way_2,
  CAST(dense_rank() OVER (ORDER BY is_infrastructure, estimated, currency) AS INTEGER) AS way_3
FROM (
  SELECT *, category NOT IN ({{not_infrastructure}}) AS is_infrastructure,
    coalesce(origin = 'estimate', false) AS estimated
  FROM share_kinds
)
