"""Charges as lines of a FOCUS 1.2 export.

Null is an empty field. Times end in Z, amounts have no exponent, Tags and SkuPriceDetails are flat JSON.
"""

import json
from dataclasses import dataclass
from functools import cache

from trainfare.money import PLACES
from trainfare.period import Month
from trainfare.simulate.charges import CLOUD_BILL, Charge, Tags
from trainfare.simulate.clock import span_of, stamp
from trainfare.simulate.fleet import EU, OWNED, SHOP, TRAINING_EU, TRAINING_US, US
from trainfare.simulate.price_list import Offer

BILL_COLUMNS = (
    *("BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency", "BillingPeriodStart"),
    *("BillingPeriodEnd", "InvoiceId", "InvoiceIssuerName", "ProviderName", "PublisherName"),
)
OFFER_COLUMNS = (
    *("ServiceCategory", "ServiceSubcategory", "ServiceName", "ResourceType", "SkuId", "SkuPriceId", "SkuMeter"),
    *("SkuPriceDetails", "PricingCategory", "PricingUnit"),
)
LOCATION_COLUMNS = ("SubAccountId", "SubAccountName", "SubAccountType", "RegionId", "RegionName")
COMMITMENT_COLUMNS = (
    *("CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountCategory", "CommitmentDiscountType"),
    *("CommitmentDiscountStatus", "CommitmentDiscountQuantity", "CommitmentDiscountUnit"),
)
LINE_COLUMNS = (
    *("ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass", "ChargeFrequency"),
    *("ChargeDescription", "ResourceId", "ResourceName", "PricingQuantity", "ConsumedQuantity", "ConsumedUnit"),
    *("ListUnitPrice", "ContractedUnitPrice", "EffectiveCost", "BilledCost", "ListCost", "ContractedCost"),
    *("CapacityReservationId", "CapacityReservationStatus", "Tags"),
)
COLUMNS = BILL_COLUMNS + OFFER_COLUMNS + LOCATION_COLUMNS + COMMITMENT_COLUMNS + LINE_COLUMNS

ACCOUNT_NAMES = {TRAINING_US: "training-us", TRAINING_EU: "training-eu", SHOP: "shop", OWNED: "basement"}
REGION_NAMES = {US: "US East (N. Virginia)", EU: "Europe (Ireland)"}


@cache
def decimal(units: int, places: int = PLACES) -> str:
    """Format `units` of 10^-places as plain decimal text without trailing zeros."""
    sign, size = ("-", -units) if units < 0 else ("", units)
    front, back = divmod(size, 10**places)
    return f"{sign}{front}.{back:0{places}d}".rstrip("0").rstrip(".") if back else f"{sign}{front}"


@cache
def _json(pairs: Tags) -> str:
    return json.dumps(dict(pairs), separators=(",", ":"))


@cache
def _offer_cells(offer: Offer, names_resource: bool) -> tuple[str, ...]:
    """Return the cells of what was bought. The resource type is given only if the resource is named."""
    details = json.dumps(offer.details, separators=(",", ":")) if offer.details else ""
    type_ = offer.resource_type if names_resource else ""
    service = (offer.service_category, offer.service_subcategory, offer.service_name, type_)
    sku = (offer.sku, offer.price_id if offer.sku else "", offer.meter, details)
    return (*service, *sku, offer.pricing_category, offer.unit)


@cache
def _location_cells(account: str, region: str) -> tuple[str, ...]:
    return (account, ACCOUNT_NAMES[account], "Account", region, REGION_NAMES.get(region, region))


def _commitment_cells(charge: Charge) -> tuple[str, ...]:
    """Return the commitment cells. The plan commits spend, so its quantity is money: used by the line, or bought."""
    if not charge.commitment_id:
        return ("",) * len(COMMITMENT_COLUMNS)
    money = charge.costs[1] if charge.charge_category == "Purchase" else charge.costs[0]
    names = (charge.commitment_id, "compute savings plan", "Spend", "Savings Plan")
    return (*names, charge.commitment_status, decimal(money), "USD")


def _frequency(charge: Charge) -> str:
    if charge.charge_category == "Purchase":
        return "Recurring"
    return "One-Time" if charge.charge_category == "Credit" else "Usage-Based"


@dataclass(frozen=True)
class Bill:
    """One provider's bill for a month: the cells that all its lines share."""

    cells: tuple[str, ...]

    @classmethod
    def of(cls, source: str, month: Month) -> "Bill":
        start, end = (stamp(second) for second in span_of(month))
        if source == CLOUD_BILL:
            account, issuer = ("999888777666", "Acme Learning", "Management"), "AWS"
        else:
            account, issuer = ("acme-datacenter", "Acme Datacenter", "Cost pool"), "Acme Datacenter"
        invoice = f"{source.upper()}-{month}"
        return cls((*account, "USD", start, end, invoice, issuer, issuer, issuer))

    def row(self, charge: Charge) -> tuple[str, ...]:
        """Return the charge's cells for `COLUMNS`. An unused commitment has no consumed quantity."""
        quantity = "" if charge.quantity is None else decimal(charge.quantity, 6)
        consumed = charge.charge_category == "Usage" and charge.commitment_status != "Unused"
        prices = (decimal(charge.prices[0]), decimal(charge.prices[1])) if charge.prices else ("", "")
        return (
            *self.cells,
            *_offer_cells(charge.offer, bool(charge.resource_id)),
            *_location_cells(charge.account, charge.region),
            *_commitment_cells(charge),
            *(stamp(charge.period[0]), stamp(charge.period[1]), charge.charge_category, charge.charge_class),
            *(_frequency(charge), charge.description, charge.resource_id, charge.resource_name, quantity),
            *((quantity, charge.offer.unit) if consumed else ("", "")),
            *prices,
            *map(decimal, charge.costs),
            *(charge.reservation_id, charge.reservation_status, _json(charge.tags) if charge.tags else ""),
        )
