-- In: named_parts, spend_parts, channels. Out: the shares as a book keeps them: way, payer, machine and day as numbers.
SELECT CAST(n.channel * 32 + n.category AS INTEGER) AS way, n.payer_key, c.machine, CAST(n.day AS INTEGER) AS day,
  n.effective, n.billed, n.list, n.contracted
FROM named_parts n JOIN channels c ON c.channel = n.channel
UNION ALL
SELECT CAST(channel * 32 + category AS INTEGER), payer_key, machine, CAST(day AS INTEGER), effective, billed, list, contracted
FROM spend_parts
