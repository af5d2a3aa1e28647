-- List the kinds of shares of a book, and those of the shares that other books have for its days.
-- In: share_kinds, foreign_shares.
SELECT share_kind, rule, category, source, origin, account, currency, converted_from, is_foreign FROM share_kinds
UNION ALL
SELECT CAST(n.last + row_number() OVER (
    ORDER BY s.rule, s.category, s.source, s.origin, s.account, s.currency, s.converted_from
  ) AS INTEGER), s.*, true
FROM (SELECT DISTINCT rule, category, source, origin, account, currency, converted_from FROM foreign_shares) s
CROSS JOIN (SELECT coalesce(max(share_kind), 0) AS last FROM share_kinds) n
