import Resilience
