;; A table that is too large from the beginning.
(table 10_000_000 funcref)
