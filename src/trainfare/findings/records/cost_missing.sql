-- Kinds of charges without list or contracted cost. At stake: their effective cost.
SELECT 'source ' || source || ', ' || coalesce(service_name, category) || ': ' || sum(without_list)
    || ' lines without list cost, ' || sum(without_contracted) || ' without contracted cost' AS evidence,
  sum(effective) AS at_stake, currency
FROM routed_kinds WHERE without_list > 0 OR without_contracted > 0
GROUP BY source, coalesce(service_name, category), currency
