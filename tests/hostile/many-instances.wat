;; The whole component: 60 instances of a core module that has nothing in it.
(component
  (core module $m)
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m))
  (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)) (core instance (instantiate $m)))
