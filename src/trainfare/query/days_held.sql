-- Cut what was held at midnight.
-- In: the placements. Out: a row per placement and day.
SELECT * EXCLUDE (number) REPLACE (greatest(starts, number * 86400) AS starts,
  least(ends, number * 86400 + 86400) AS ends), DATE '1970-01-01' + CAST(number AS INTEGER) AS day
FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM {{placements}})
