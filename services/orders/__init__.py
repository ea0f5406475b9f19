"""orders: takes orders over HTTP, tells about them through its outbox, settles them by what billing says.

Reading order: ``place_order`` (an order and its event in one transaction), ``cancel_order``, ``settle_orders`` (the
handler of billing's events), then ``api`` and ``wiring`` around them.
"""
