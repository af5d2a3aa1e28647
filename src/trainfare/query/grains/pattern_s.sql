-- List the labels of each pattern of labels.
-- In: grain_sets; the patterns of several.
SELECT pattern, CAST(unnest(places) AS INTEGER) AS "set" FROM {{patterns}}{{single_sets}}
