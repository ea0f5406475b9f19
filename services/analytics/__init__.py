"""Analytics: a read model of revenue and of orders by state. Owns the ``analytics`` database; says nothing itself."""
