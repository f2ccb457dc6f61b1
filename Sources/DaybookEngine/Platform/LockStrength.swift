package enum LockStrength: Sendable { case shared, exclusive }
