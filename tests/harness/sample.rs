//! A small repository with one bug in it.

/// What a user might report of [`SHOP`]: the fix edits `shop/discounts.py`.
pub const SHOP_REPORT: &str = "Voucher with a percentage is applied twice. When a voucher of 10 % \
    is entered and the basket is recalculated, apply_voucher lowers the total again and the \
    customer pays 19 % less.";

/// A shop whose vouchers are applied twice, as the text of a fixture.
pub const SHOP: &str = r#"
    //- /README.md
    # Shop
    Baskets, vouchers and invoices.
    //- /shop/__init__.py
    //- /shop/basket.py
    from shop.discounts import apply_voucher

    class Basket:
        """What a customer is about to buy."""

        def __init__(self):
            self.lines = []
            self.voucher = None

        def add(self, item, quantity):
            self.lines.append((item, quantity))

        def recalculate(self):
            total = sum(item.price * quantity for item, quantity in self.lines)
            return apply_voucher(self, total)
    //- /shop/discounts.py
    class Voucher:
        """A percentage off the whole basket."""

        def __init__(self, code, percentage):
            self.code = code
            self.percentage = percentage

    def apply_voucher(basket, total):
        """Lowers the total by the voucher's percentage."""
        if basket.voucher is None:
            return total
        total -= total * basket.voucher.percentage / 100
        return total - total * basket.voucher.percentage / 100
    //- /shop/invoice.py
    def render(basket):
        """The invoice as text, a line an item."""
        return "\n".join(f"{quantity} x {item.name}" for item, quantity in basket.lines)
    //- /shop/shipping.py
    RATES = {"letter": 2, "parcel": 5, "pallet": 90}

    def rate(weight):
        """The cheapest service for a weight in grams."""
        return RATES["letter" if weight < 500 else "parcel" if weight < 30000 else "pallet"]
    //- /tests/test_invoice.py
    from shop.invoice import render

    def test_an_empty_basket_gives_an_empty_invoice():
        assert render(type("Basket", (), {"lines": []})) == ""
"#;
