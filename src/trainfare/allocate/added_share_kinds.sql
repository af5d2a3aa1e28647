-- Number everything that an adjustment of a closed month states besides its payer, machine and day.
-- In: restated_shares, share_kinds. Out: rows like those of share_kinds, numbered after all others.
SELECT CAST(n.last + row_number() OVER (
    ORDER BY s.rule, s.category, s.source, s.origin, s.account, s.currency, s.converted_from
  ) AS INTEGER) AS share_kind, s.*
FROM (SELECT DISTINCT rule, category, source, origin, account, currency, converted_from FROM restated_shares) s
CROSS JOIN (SELECT coalesce(max(share_kind), 0) AS last FROM share_kinds) n
