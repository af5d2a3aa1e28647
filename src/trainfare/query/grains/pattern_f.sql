-- List the places of each pattern, with what they can be grouped by.
-- In: grain_places; the patterns of several places.
WITH listed AS (
  SELECT pattern, unnest(places) AS place FROM {{patterns}}{{single_places}}
)
SELECT n.pattern, p."set", p.site, p.attempt_key, p.machine, p.unknown_machine
FROM listed n JOIN grain_places p ON p.place = n.place
