"""The ElasticJob controller: `reconcile` decides, purely; everything else only sees and does."""
