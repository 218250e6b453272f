public import Resilience
